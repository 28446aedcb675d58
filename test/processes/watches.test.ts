import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { mostCallsWithin } from '../../dev/sandbox/ledger-questions.js';
import { toAccountName } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, shows } from '../support/order/stack.js';
import { findingsOf, isWatched } from '../support/runs.js';
import { useFleet } from '../support/worker/fleet.js';
import type { WorkerProcess } from '../support/worker/process.js';

const account = toAccountName('partner');
const perSecond = isLong ? 100 : 40;
const orders = isLong ? 500 : 160;
const pausedMs = 60_000;

const fleet = useFleet(3, {
  requestsPerSecond: perSecond,
  env: { FARETRAIL_POLL_ACTIVE_MS: '5000', FARETRAIL_POLL_RESERVED_MS: '5000' },
});

const patiently = { timeout: 180_000, interval: 100 };
const polls = (since: number) =>
  fleet.sandbox.ledger({ operation: 'orderStatus', since: new Date(since).toISOString() });
const pidOf = async (): Promise<number> =>
  Number.parseInt((await readWatch(fleet.client, fleet.place.config.taskQueue, account))?.worker ?? '0', 10);

/** The process that holds the watch of the account. */
async function holder(): Promise<WorkerProcess> {
  return await vi.waitFor(async () => {
    const pid = await pidOf();
    return fleet.workers.find((worker) => worker.pid === pid) ?? expect.fail(`no worker ${pid}`);
  }, patiently);
}

/** Resolves once each order was polled after this instant; to the milliseconds until then. */
async function allPolledSince(since: number, count: number): Promise<number> {
  await vi.waitFor(
    () => expect(new Set(polls(since).map(({ orderId }) => orderId)).size).toBeGreaterThanOrEqual(count),
    { ...patiently, timeout: 270_000 },
  );
  return Date.now() - since;
}

const findingsTo = async (runs: readonly FollowHandle[]): Promise<number> =>
  (await Promise.all(runs.map(findingsOf))).flat().length;

/** The holder stands still for longer than Temporal waits for a heartbeat, then goes on beside its successor. */
async function outlivesPause(): Promise<void> {
  const paused = await holder();
  paused.signal('SIGSTOP');
  const pausedAt = Date.now();
  console.log(`SIGSTOP: all were polled again after ${await allPolledSince(pausedAt + 1_000, orders)} ms`);
  expect((await holder()).pid).not.toBe(paused.pid);
  await sleep(Math.max(0, pausedAt + pausedMs - Date.now()));
  paused.signal('SIGCONT');
  const resumedAt = Date.now();
  await sleep(10_000);
  const after = polls(resumedAt + 5_000).length / 5; // each order once in five seconds
  expect(after, 'only one polls').toBeLessThan((1.3 * orders) / 5);
}

it('the watch of an account outlives the process that holds it, however that ends, and tells the runs nothing without a change', {
  timeout: 600_000,
}, async () => {
  const runs = await fleet.followOrders(orders, [['Driving', 0]], ['partner']);
  for (const run of runs) await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patiently);
  const begunAt = Date.now();

  const stopped = await holder();
  const stoppedAt = Date.now();
  const ending = stopped.stop();
  await vi.waitFor(async () => expect(await pidOf()).not.toBe(stopped.pid), patiently);
  await vi.waitFor(() => expect(polls(stoppedAt + 500).length).toBeGreaterThan(0), patiently);
  expect(await ending).toBe(0);
  fleet.workers.splice(fleet.workers.indexOf(stopped), 1);
  const times = polls(stoppedAt - 1_000).map(({ at }) => Date.parse(at));
  const silences = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const stopSilenceMs = Math.max(...silences);
  const afterStopMs = await allPolledSince(stoppedAt, orders);
  console.log(`SIGTERM: no poll for ${stopSilenceMs} ms, all were polled again after ${afterStopMs} ms`);
  await fleet.addWorker();

  if (isLong) await outlivesPause();

  const killed = await holder();
  const killedAt = Date.now();
  await killed.kill();
  fleet.workers.splice(fleet.workers.indexOf(killed), 1);
  const againMs = await allPolledSince(killedAt, orders);
  console.log(`kill -9: all were polled again after ${againMs} ms`);
  const pollsAgainMs = Date.parse(polls(killedAt + 1_000)[0]?.at ?? '') - killedAt;
  // A busy machine is late with both. After a kill Temporal waits for a heartbeat, and the successor begins with a
  // quarter of the budget.
  expect(stopSilenceMs, 'a worker that is stopped hands its watch over').toBeLessThan(pollsAgainMs / 2);
  expect(afterStopMs, 'at full speed').toBeLessThan(againMs);

  expect(mostCallsWithin(10_000, polls(begunAt)), 'within the budget').toBeLessThanOrEqual(13 * perSecond);
  expect(await findingsTo(runs)).toBe(0);
  const [changed] = runs;
  const orderId = changed?.workflowId.split('/')[2] ?? '';
  fleet.sandbox.setStatus('partner', orderId, 'Waiting');
  await shows(changed as FollowHandle, { status: 'Waiting' });
  expect(await findingsTo(runs)).toBe(1);
  await Promise.all(runs.map((run) => run.terminate()));
});
