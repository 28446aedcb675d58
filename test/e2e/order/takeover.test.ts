import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { shows, useOrderStack } from '../../support/order/stack.js';
import { eventsOf } from '../../support/runs.js';

const stack = useOrderStack();
const orders = 100;
const deliveries = 100;

/** Temporal took a workflow task away from the worker that had begun it. */
const lostTasks = async (run: Parameters<typeof eventsOf>[0]): Promise<number> =>
  (await eventsOf(run)).filter(({ workflowTaskTimedOutEventAttributes: lost }) => Number(lost?.timeoutType) === 1)
    .length;

// With 200 tasks at once the runs lost 151 tasks, and it took over a minute.
it.runIf(isLong)(
  'a worker takes over a hundred orders with 400 events each, and its replays come in time',
  {
    timeout: 400_000,
  },
  async () => {
    stack.sandbox.setFault({ kind: 'forbidden', operation: 'orderDetails' });
    const runs = await Promise.all(
      Array.from({ length: orders }, () => stack.follow('business', stack.newOrder('business', [['Confirmed', 0]]))),
    );
    // Apart, so that each has a workflow task of its own.
    for (let sent = 0; sent < deliveries; sent += 1, await sleep(500)) {
      await Promise.all(runs.map((run) => deliver(run, newDelivery())));
    }
    expect((await runs[0]?.describe())?.historyLength).toBeGreaterThan(380);
    await stack.stopWorker();
    await Promise.all(runs.map((run) => deliver(run, newDelivery())));
    await stack.startWorker();
    for (const run of runs) await shows(run, { deliveries: { received: deliveries + 1 } });
    const lost = (await Promise.all(runs.map(lostTasks))).reduce((sum, one) => sum + one, 0);
    expect(lost, 'a busy machine may be late with a few').toBeLessThan(orders / 2);
  },
);
