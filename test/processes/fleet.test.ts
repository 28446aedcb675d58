import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tokenRequestsIn } from '../../sandbox/ledger-questions.js';
import { type Fleet, startFleet } from '../support/fleet.js';

const lifetimeMs = 30_000;
/** A fifth of a short lifetime: renewed this long before its end. */
const aheadMs = lifetimeMs / 5;
const lifetimes = 2;

let fleet: Fleet;
beforeAll(async () => {
  const tokenLifetimeSeconds = lifetimeMs / 1_000;
  fleet = await startFleet(8, {
    sandbox: { partner: { tokenLifetimeSeconds }, business: { tokenLifetimeSeconds } },
    env: { FARETRAIL_POLL_ACTIVE_MS: '3000', FARETRAIL_POLL_RESERVED_MS: '3000' },
  });
}, 120_000);
afterAll(() => fleet.close(), 60_000);

const tokenRequests = () =>
  tokenRequestsIn(fleet.sandbox.ledger()).map(({ times }) => times.map((at) => new Date(at).getTime()));

it('8 worker processes and 200 orders make one token request per lifetime, one at the cold start, two after a revocation', async () => {
  const endMs = lifetimes * lifetimeMs + 25_000;
  const handles = await fleet.followOrders(200, [
    ['Pending', 0],
    ['Routing', 10_000],
    ['Driving', 20_000],
    ['Completed', endMs],
  ]);
  await expect
    .poll(() => fleet.sandbox.counts().byOperation, { timeout: 60_000 })
    .toMatchObject({
      orderStatus: expect.toSatisfy((reads: number) => reads >= 100),
      orderDetails: expect.toSatisfy((reads: number) => reads >= 100),
    });
  expect(
    tokenRequests().map((times) => times.length),
    'cold start',
  ).toEqual([1, 1]);

  await sleep(lifetimes * lifetimeMs - aheadMs);
  for (const times of tokenRequests()) {
    expect(times.length).toBeGreaterThanOrEqual(lifetimes);
    const distances = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(lifetimeMs - aheadMs - 500);
  }

  const before = tokenRequests().map((times) => times.length);
  fleet.sandbox.revokeTokens();
  await sleep(10_000);
  const after = tokenRequests().map((times) => times.length);
  after.forEach((count, index) => {
    expect(count - (before[index] ?? 0), 'after a revocation').toBeGreaterThanOrEqual(1);
    expect(count - (before[index] ?? 0), 'after a revocation').toBeLessThanOrEqual(2);
  });

  const trails = await Promise.all(handles.map((handle) => handle.result()));
  expect(new Set(trails.map(({ outcome, attention }) => `${outcome} ${attention}`))).toEqual(
    new Set(['completed null']),
  );
}, 240_000);
