import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { tokenRequestsIn } from '../../dev/sandbox/ledger-questions.js';
import type { RideInterface } from '../../src/domain/account.js';
import { fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { isLong } from '../support/long.js';
import { useFleet } from '../support/worker/fleet.js';

const lifetimeMs = isLong ? 30_000 : 10_000;
const renewals = isLong ? 5 : 2;
const size = isLong ? { workers: 8, orders: 200 } : { workers: 4, orders: 100 };
/** A fifth of a short lifetime: renewed this long before its end. */
const aheadMs = lifetimeMs / 5;
/** A lifetime counts from the sending of a request; the sandbox notes when it came. */
const onTheWayMs = 2_000;

const tokenLifetimeSeconds = lifetimeMs / 1_000;
const fleet = useFleet(size.workers, {
  sandbox: { partner: { tokenLifetimeSeconds }, business: { tokenLifetimeSeconds } },
  env: { FARETRAIL_POLL_ACTIVE_MS: '3000', FARETRAIL_POLL_RESERVED_MS: '3000' },
});

const tokenRequests = () =>
  tokenRequestsIn(fleet.sandbox.ledger()).map(({ times }) => times.map((at) => new Date(at).getTime()));
const tokenRequestCounts = () => tokenRequests().map((times) => times.length);

it(`${size.workers} worker processes and ${size.orders} orders make one token request per lifetime, one at the cold start, two after a revocation`, async () => {
  const handles = await fleet.followOrders(size.orders, [['Driving', 0]]);
  const many = expect.toSatisfy((reads: number) => reads >= 100);
  await expect
    .poll(() => fleet.sandbox.counts().byOperation, { timeout: 150_000 })
    .toMatchObject({ orderStatus: many, orderDetails: many });

  const enough = expect.toSatisfy((count: number) => count > renewals);
  await expect.poll(tokenRequestCounts, { timeout: renewals * lifetimeMs + 60_000 }).toEqual([enough, enough]);
  for (const times of tokenRequests()) {
    // A second one at the cold start, or by another worker, would come within moments.
    const distances = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(lifetimeMs - aheadMs - onTheWayMs);
  }

  await sleep(aheadMs); // a token that is rejected at its first use tells of a wrong account, not of a revocation
  const before = tokenRequestCounts();
  fleet.sandbox.revokeTokens();
  const grown = before.map((count) => expect.toSatisfy((after: number) => after > count));
  await expect.poll(tokenRequestCounts).toEqual(grown);
  await sleep(5_000); // for requests that should not be
  tokenRequestCounts().forEach((count, index) => {
    expect(count - (before[index] ?? 0), 'after a revocation').toBeLessThanOrEqual(2);
  });

  for (const { workflowId } of handles) {
    const { account, orderId } = fromFollowOrderId(workflowId) ?? expect.fail(workflowId);
    fleet.sandbox.setStatus(account as RideInterface, orderId, 'Completed'); // accounts are named by their interface
  }
  const trails = await Promise.all(handles.map((handle) => handle.result()));
  expect(new Set(trails.map(({ outcome, attention }) => `${outcome} ${attention}`))).toEqual(
    new Set(['completed null']),
  );
}, 400_000);

it('workers that are told to stop end their calls, then exit with 0', async () => {
  fleet.sandbox.setFault({ kind: 'slow', delayMs: 2_000 });
  const workers = fleet.workers.splice(0);
  const startedAt = new Date().toISOString();
  const handles = await fleet.followOrders(5, [['Completed', 0]], ['partner']);
  const calls = () => fleet.sandbox.ledger({ operation: 'orderStatus', since: startedAt }).length;
  await expect.poll(calls).toBeGreaterThan(0);
  for (const code of await Promise.all(workers.map((worker) => worker.stop()))) expect(code).toBe(0);
  for (const worker of workers) expect(worker.output()).toContain('worker stopped');
  fleet.sandbox.clearFaults();
  await fleet.addWorker(); // takes over what is left to do
  await Promise.all(handles.map((handle) => handle.result()));
}, 120_000);
