import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runOf } from '../../../src/temporal/runs.js';
import { startReplayer } from '../../replay/replayer.js';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { isLong } from '../../support/long.js';
import { type FollowHandle, startOrderStack } from '../../support/order/stack.js';

const orders = isLong ? 96 : 12;
const course = ['Routing', 'Reserved', 'Confirmed', 'Waiting', 'Driving', 'Completed'].slice(isLong ? 0 : -3);
/** Far fewer than the runs, so that most are replayed again and again. */
const options = { maxCachedWorkflows: 41 };
const upTo = (ms: number): Promise<void> => sleep(Math.random() * ms);
/** The server turns queries away that are too many at a time, or that no worker answers in ten seconds; it takes no message for a run that has ended. */
const ifTaken = (sent: Promise<unknown>): Promise<boolean> =>
  sent.then(
    () => true,
    () => false,
  );

// Without `src/workflows/sdk-core-1146.ts` some runs stand still for ever, and the test does not end.
it('orders go on and replay that were queried again and again around their deliveries while workers were replaced', {
  timeout: isLong ? 900_000 : 200_000,
}, async () => {
  const stack = await startOrderStack({ options });
  let answers = 0;
  async function follow(): Promise<FollowHandle> {
    const orderId = stack.newOrder('business', [['Pending', 0]]);
    const run = await stack.follow('business', orderId);
    const asked = runOf(stack.client, run.workflowId); // asks again where a query comes ahead of a task
    const ask = async (): Promise<void> => {
      for (let times = 0; times < 4; times += 1, await upTo(20))
        if (await ifTaken(asked.query('orderTrail'))) answers += 1;
    };
    const announce = (status: string): Promise<boolean> => ifTaken(deliver(run, deliveryOf(status)));
    for (const status of course) {
      await upTo(300);
      stack.sandbox.setStatus('business', orderId, status);
      const later = [20, 40].map((ms) => upTo(ms).then(() => announce(status)));
      const refreshed = upTo(20).then(() => ifTaken(run.executeUpdate('refreshOrder')));
      await Promise.all([ask(), ask(), announce(status), ...later, refreshed]);
    }
    await run.result();
    return run;
  }

  let goesOn = true;
  async function replaceWorkers(): Promise<void> {
    while (goesOn) {
      await sleep(2_000);
      await stack.stopWorker();
      await upTo(1_000);
      await stack.startWorker();
    }
  }
  const replacing = replaceWorkers();
  const runs = await Promise.all(Array.from({ length: orders }, follow));
  goesOn = false;
  await replacing;

  const replayer = startReplayer();
  for (const run of runs) await replayer.replay(await run.fetchHistory(), run.workflowId);
  await replayer.close();
  await stack.close();
  expect(answers).toBeGreaterThan(orders * course.length * 8 * 0.9);
});
