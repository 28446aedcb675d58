import { expect, it, vi } from 'vitest';
import { mostCallsWithin } from '../../dev/sandbox/ledger-questions.js';
import { toAccountName } from '../../src/domain/keys.js';
import { accountWatchId } from '../../src/domain/workflow-ids.js';
import { createWatchPort, readWatch } from '../../src/temporal/watches.js';
import { resetPoints, resetRun } from '../support/operator.js';
import { patient } from '../support/patience.js';
import { isWatched } from '../support/runs.js';
import { useFleet } from '../support/worker/fleet.js';

const account = toAccountName('partner');
const budget = 16;
/** Each is due once a second, which is far above the budget. */
const orders = 60;

const fleet = useFleet(3, { requestsPerSecond: budget, env: { FARETRAIL_POLL_ACTIVE_MS: '1000' } });

const polls = (since: number) =>
  fleet.sandbox.ledger({ operation: 'orderStatus', since: new Date(since).toISOString() });

const holder = async (): Promise<string> =>
  await vi.waitFor(
    async () => (await readWatch(fleet.client, fleet.place.config.taskQueue, account))?.worker ?? expect.fail('none'),
    patient,
  );

/** Resolves once one process polls as fast as the only one may. */
const isAtFullRate = (): Promise<void> =>
  vi.waitFor(() => expect(polls(Date.now() - 5_000).length / 5).toBeGreaterThan(0.7 * budget), {
    ...patient,
    interval: 1_000,
  });

/** What an operator does to the run of a watch while a process polls. Either way another run begins. */
const ends = {
  async terminated() {
    const { client, place } = fleet;
    await client.workflow.getHandle(accountWatchId(account, place.config.taskQueue)).terminate('a test');
    await createWatchPort(client, place.config.taskQueue, null).start(account);
  },
  async reset() {
    const run = fleet.client.workflow.getHandle(accountWatchId(account, fleet.place.config.taskQueue));
    const { runId } = await run.describe();
    await resetRun(fleet.client, { workflowId: run.workflowId, runId }, (await resetPoints(run)).at(-1) ?? 0);
  },
};

/** Ends the run of the watch until another process takes the next one. Gives when that was. */
async function untilAnotherTakesIt(end: keyof typeof ends): Promise<number> {
  for (;;) {
    await isAtFullRate();
    const before = await holder();
    const endedAt = Date.now();
    await ends[end]();
    if ((await holder()) !== before) return endedAt;
  }
}

it('a watch whose run an operator terminates or resets keeps the budget while the process before polls on unaware', async () => {
  for (const run of await fleet.followOrders(orders, [['Driving', 0]], ['partner']))
    await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patient);
  for (const end of ['terminated', 'reset'] as const) {
    const endedAt = await untilAnotherTakesIt(end);
    await vi.waitFor(() => expect(Date.now() - endedAt).toBeGreaterThan(35_000), patient);
    const most = mostCallsWithin(10_000, polls(endedAt - 10_000));
    console.log(`${end}: ${most / 10} requests/s of ${budget} in the busiest ten seconds`);
    expect.soft(most, end).toBeLessThanOrEqual(13 * budget);
    await isAtFullRate();
  }
});
