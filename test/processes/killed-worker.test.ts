import { expect, it, vi } from 'vitest';
import type { HistoryEvents } from '../../src/temporal/runs.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import type { FollowHandle } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { eventsOf, isWatched } from '../support/runs.js';
import { useFleet } from '../support/worker/fleet.js';
import type { WorkerProcess } from '../support/worker/process.js';

const fleet = useFleet(2);

const isOfTask = (event: HistoryEvents[number]): unknown =>
  event.workflowTaskScheduledEventAttributes ?? event.workflowTaskCompletedEventAttributes;

/**
 * Resolves to the process that has the run in its cache, once no task of the run is under way: a task dies with its
 * worker, and Temporal repeats it after ten seconds.
 */
async function cachingWorker(run: FollowHandle): Promise<WorkerProcess> {
  const identity = await vi.waitFor(async () => {
    const tasks = (await eventsOf(run)).filter(isOfTask);
    return tasks.at(-1)?.workflowTaskCompletedEventAttributes?.identity ?? expect.fail('a task is under way');
  }, patient);
  const pid = Number.parseInt(identity, 10);
  return fleet.workers.find((worker) => worker.pid === pid) ?? expect.fail(`no worker ${pid}`);
}

/** Kills the worker that caches the run of a new order. Resolves to how long a delivery then waits for another one. */
async function delayAfterKill(): Promise<number> {
  const [run = expect.fail('no run')] = await fleet.followOrders(1, [['Driving', 0]], ['business']);
  await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patient);
  const killed = await cachingWorker(run);
  const before = (await eventsOf(run)).length;
  await killed.kill();
  fleet.workers.splice(fleet.workers.indexOf(killed), 1);
  const deliveredAt = performance.now();
  await deliver(run, deliveryOf('Waiting'));
  const answers = async () =>
    (await eventsOf(run)).slice(before).filter((event) => event.workflowTaskCompletedEventAttributes);
  await vi.waitFor(async () => expect(await answers()).not.toEqual([]), { timeout: 60_000, interval: 20 });
  const delayMs = Math.round(performance.now() - deliveredAt);
  await fleet.addWorker();
  await run.terminate();
  return delayMs;
}

it('another worker takes over a run about a second after its worker was killed', { timeout: 300_000 }, async () => {
  const delays: number[] = [];
  for (let tried = 0; tried < (isLong ? 5 : 1); tried += 1) delays.push(await delayAfterKill());
  console.log(`kill -9: another worker took the task after ${delays.join(', ')} ms`);
  expect(Math.max(...delays)).toBeLessThan(5_000);
});
