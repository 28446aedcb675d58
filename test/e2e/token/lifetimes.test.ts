import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import type { RideInterface } from '../../../src/domain/account.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { createOrderWorker } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { startCall } from '../../support/call/calls.js';
import { trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

const tokenLifetimeSeconds = 8;
const workMs = 15_000;
/** A token request, on a machine with much other work. */
const mostWithoutTokenMs = 10_000;

const lifetime = { tokenLifetimeSeconds };
const stack = useOrderStack({
  sandbox: { partner: lifetime, business: lifetime },
  env: { FARETRAIL_POLL_ACTIVE_MS: '500' },
});

/** Another worker, whose clock goes ahead by so many milliseconds. Gives what stops it. */
async function startWorker(aheadMs: number): Promise<() => Promise<void>> {
  const now = () => Date.now() + aheadMs;
  const { config } = stack;
  const rideApi = createRideApi({ profile: config.profile, now });
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const worker = await createOrderWorker({
    ...{ config, rideApi, connection, client: new Client({ connection }), now, namespace: 'default' },
    workflowBundle: { codePath: inject('workflowBundlePath') },
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await rideApi.close();
    await connection.close();
  };
}

let stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  stops = await Promise.all([3_000, -3_000].map(startWorker));
});
afterAll(() => Promise.all(stops.map((stop) => stop())));

const readsOf = (orderId: string) =>
  stack.sandbox.ledger({ orderId }).filter(({ operation }) => /^order/.test(operation));

/** Three new orders that stay as they are, each read once. */
const followOrders = (at: RideInterface) =>
  Promise.all(
    [1, 2, 3].map(async () => {
      const orderId = stack.newOrder(at, [['Driving', 0]]);
      const handle = await stack.follow(at, orderId);
      const isRead = () => readsOf(orderId).some(({ httpStatus }) => httpStatus === 200);
      await vi.waitFor(() => expect(isRead()).toBe(true), patient);
      return { orderId, handle };
    }),
  );

/** The longest time from a read that was answered with 401 to the next good one. */
function longestWithoutTokenMs(orderId: string): number {
  let longest = 0;
  let rejectedAt = Number.POSITIVE_INFINITY;
  const end = { at: new Date().toISOString(), httpStatus: 200 };
  for (const { at, httpStatus } of [...readsOf(orderId), end]) {
    const now = Date.parse(at);
    longest = Math.max(longest, now - rejectedAt);
    rejectedAt = httpStatus === 200 ? Number.POSITIVE_INFINITY : Math.min(rejectedAt, now);
  }
  return longest;
}

it('three workers whose clocks differ read all orders all the time, at the cost of one token request for each lifetime, though the service rejects one operation whatever the token', async () => {
  const startedAt = Date.now();
  const orders = { partner: await followOrders('partner'), business: await followOrders('business') };
  stack.sandbox.setFault({ kind: 'unauthorized', operation: 'cancelOrder' });
  const orderId = toOrderId(orders.business[0]?.orderId ?? '');
  for (const end = Date.now() + workMs; Date.now() < end; await pause(workMs / 10)) {
    const call = await startCall(stack, 'cancelOrder', { orderId });
    await expect(call.result()).rejects.toMatchObject({ cause: { type: 'CredentialsRejected' } });
  }
  for (const { orderId, handle } of [...orders.partner, ...orders.business]) {
    expect(longestWithoutTokenMs(orderId)).toBeLessThan(mostWithoutTokenMs);
    expect(await trailOf(handle)).toMatchObject({ attention: null });
  }
  const lifetimes = (Date.now() - startedAt) / 1_000 / tokenLifetimeSeconds;
  const requests = (operation: 'partnerToken' | 'businessToken') => stack.sandbox.ledger({ operation }).length;
  // A fifth ahead of the end; one more until the worker that is ahead knows that; and for the operation two, then one in half a minute.
  const most = Math.ceil(lifetimes / 0.8) + 2;
  expect(requests('partnerToken')).toBeLessThanOrEqual(most);
  const halfMinutes = Math.ceil((lifetimes * tokenLifetimeSeconds) / 30);
  expect(requests('businessToken')).toBeLessThanOrEqual(most + 2 + halfMinutes);
});
