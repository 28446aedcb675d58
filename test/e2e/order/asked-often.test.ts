import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startReplayer } from '../../replay/replayer.js';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { startOrderStack } from '../../support/order/stack.js';
import { eventsOf } from '../../support/runs.js';

const orders = 12;
const rounds = 8;
const course = ['Routing', 'Reserved', 'Confirmed', 'Waiting', 'Driving', 'Completed'];
const upTo = (ms: number): Promise<void> => sleep(Math.random() * ms);

// Without open activations 4 to 10 of the 96 runs did not replay, and others stood still for the ten seconds of a lost task.
it.runIf(isLong)(
  'orders replay that were asked again and again while their deliveries came',
  { timeout: 400_000 },
  async () => {
    const stack = await startOrderStack({ store: { record: () => upTo(20) } });
    const replayer = startReplayer();
    let lost = 0;
    async function follow(): Promise<void> {
      const orderId = stack.newOrder('business', [['Pending', 0]]);
      const run = await stack.follow('business', orderId);
      const ask = async (): Promise<void> => {
        for (let asked = 0; asked < 4; asked += 1, await upTo(10)) await run.query('orderTrail').catch(() => undefined);
      };
      const announce = (status: string): Promise<void> => deliver(run, deliveryOf(status)).catch(() => undefined); // the last come too late
      for (const status of course) {
        await upTo(150);
        stack.sandbox.setStatus('business', orderId, status);
        const later = [20, 40].map((ms) => upTo(ms).then(() => announce(status)));
        await Promise.all([ask(), ask(), announce(status), ...later]);
      }
      await run.result();
      const events = await eventsOf(run);
      lost += events.filter(({ workflowTaskTimedOutEventAttributes: task }) => task).length;
      await replayer.replay(await run.fetchHistory(), run.workflowId);
    }
    for (let round = 0; round < rounds; round += 1) await Promise.all(Array.from({ length: orders }, follow));
    expect(lost).toBe(0);
    await replayer.close();
    await stack.close();
  },
);
