import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { rideStart } from '../../../src/temporal/starts.js';
import type { requestRide } from '../../../src/workflows/ride/request-ride.js';
import type { RequestRideLimits } from '../../../src/workflows/ride/state.js';
import { newRide } from '../../sandbox/booking-calls.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  account,
  failureOf,
  goesOn,
  namesRequestIds,
  ordersOf,
  type RideRun,
  requestedRide,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { continued, type eventsOf, pendingOf, runsOf } from '../../support/runs.js';

// A create lost its answer, and deliveries name an order: the ride takes it only if the order itself names the ride.

const stack = useOrderStack({ env: namesRequestIds });
beforeAll(() =>
  stack.sandbox.setBookingSettings({ script: goesOn, forgetsRequestIds: true, requestIdIn: ['details'] }),
);

/** A ride whose create the service carries out and does not answer. */
async function lost(limits: Partial<RequestRideLimits> = {}) {
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
  onTestFinished(() => stack.sandbox.clearFaults());
  const { handle, requestId } = await requestedRide(stack, {}, { limits });
  await vi.waitFor(() => expect(ordersOf(stack, requestId)).toHaveLength(1), patient);
  const orderId = ordersOf(stack, requestId)[0]?.orderId ?? '';
  return { handle, requestId, orderId, name: (named: unknown) => handle.signal('orderNamed', named as never) };
}

const asksAPerson = (handle: RideRun) =>
  stands(handle, { stage: 'requesting', orderId: null, attention: { code: 'outcomeUnknown' } });
const reads = (orderId: string) => stack.sandbox.ledger({ operation: 'orderDetails', orderId }).length;
/** How many orders the run has read because deliveries named them. */
/** Of the run and of those that it continues. */
const confirmations = async (run: RideRun): Promise<number> => {
  const events = (await runsOf(stack.client, run.workflowId)).flat() as Awaited<ReturnType<typeof eventsOf>>;
  const started = events.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  return started.filter((activity) => activity === 'confirmOrder').length;
};
const stranger = () => stack.newOrder('business', [['Driving', 0]]);
const resolve = (handle: RideRun, resolution: object) =>
  handle.executeUpdate('resolveRide', { args: [resolution as never] });

/** The ride follows this order to its end, and the service has no other of it. */
async function endsRight({ handle, requestId, orderId }: Awaited<ReturnType<typeof lost>>): Promise<void> {
  await stands(handle, { stage: 'following', orderId, attention: null });
  await handle.executeUpdate('cancelRide');
  expect(await handle.result()).toMatchObject({ orderId, outcome: 'cancelled' });
  expect(ordersOf(stack, requestId)).toHaveLength(1);
}

describe('a ride that waits for a person', () => {
  it('follows the order that a delivery names, and ends right', async () => {
    const ride = await lost();
    await asksAPerson(ride.handle);
    await portOf(stack).toRide({ account, requestId: ride.requestId, orderId: toOrderId(ride.orderId) });
    await endsRight(ride);
  });

  it('does not take an order that only the delivery calls its own', async () => {
    const ride = await lost();
    const other = await lost();
    await asksAPerson(ride.handle);
    for (const orderId of [stranger(), other.orderId, '404404']) {
      await ride.name({ orderId });
      await vi.waitFor(() => expect(reads(orderId)).toBe(1), patient);
    }
    await asksAPerson(ride.handle);
    await ride.name({ orderId: ride.orderId });
    await endsRight(ride);
    await other.handle.terminate();
  });

  it('does not take its order while the order does not name it', async () => {
    stack.sandbox.setBookingSettings({ requestIdIn: ['search'] });
    onTestFinished(() => void stack.sandbox.setBookingSettings({ requestIdIn: ['details'] }));
    const ride = await lost();
    await ride.name({ orderId: ride.orderId });
    await vi.waitFor(() => expect(reads(ride.orderId)).toBe(1), patient);
    await asksAPerson(ride.handle);
    await resolve(ride.handle, { orderId: ride.orderId });
    await endsRight(ride);
  });

  it('reads few of a thousand orders that deliveries name, and nothing that is no order', async () => {
    const ride = await lost();
    await asksAPerson(ride.handle);
    const ids = [7, '', 'a/b', '..'].map((orderId) => ({ orderId }));
    for (const garbage of [null, 'x', 7, [], {}, ...ids]) await ride.name(garbage);
    await sleep(1_000);
    expect(await confirmations(ride.handle)).toBe(0);
    const named = Array.from({ length: 1_000 }, () => `n-${randomUUID()}`);
    for (let from = 0; from < named.length; from += 50)
      await Promise.all(named.slice(from, from + 50).map((orderId) => ride.name({ orderId })));
    const areRead = async () => {
      expect(await confirmations(ride.handle)).toBeGreaterThan(0);
      expect(await pendingOf(ride.handle)).toEqual([]);
    };
    await vi.waitFor(areRead, patient);
    await resolve(ride.handle, { orderId: ride.orderId });
    await endsRight(ride);
    expect(await confirmations(ride.handle)).toBeLessThanOrEqual(10);
  });

  it('reads no more of them after it has continued as new', async () => {
    const ride = await lost({ maxEvents: 60 });
    await asksAPerson(ride.handle);
    const prefix = randomUUID();
    const sent = () =>
      stack.sandbox.ledger({ operation: 'orderDetails' }).filter(({ orderId }) => orderId?.startsWith(prefix)).length;
    for (let i = 0; sent() < 10; i += 1) await ride.name({ orderId: `${prefix}-${i}` });
    await continued(ride.handle);
    await ride.name({ orderId: ride.orderId });
    await sleep(1_000); // a read would come at once, unless a person decides first
    await resolve(ride.handle, { giveUp: true, reason: 'flooded' });
    expect([sent(), reads(ride.orderId)]).toEqual([10, 0]);
  });
});

it('orders that were named before the create lost its answer are read once each, until one is taken', async () => {
  const { handle: earlier, requestId, orderId, name } = await lost();
  await asksAPerson(earlier);
  await earlier.terminate();
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', times: 1 });
  const { args, ...options } = rideStart({ account, requestId, order: newRide() }, stack.config.taskQueue);
  const other = stranger();
  await stack.stopWorker(); // so that the run has all signals before its create
  const { workflowId } = await stack.client.workflow.signalWithStart<typeof requestRide, [unknown]>('requestRide', {
    ...{ ...options, args: args as never, workflowIdReusePolicy: 'ALLOW_DUPLICATE' },
    ...{ signal: 'orderNamed', signalArgs: [{ orderId }] },
  });
  const handle = stack.client.workflow.getHandle(workflowId) as RideRun;
  for (const named of [other, other]) await handle.signal('orderNamed', { orderId: named } as never);
  await stack.startWorker();
  await endsRight({ handle, requestId, orderId, name });
  expect(await confirmations(handle)).toBe(2);
});

it('a ride that has its order ignores what deliveries name, during its life and after', async () => {
  const { handle, requestId } = await requestedRide(stack);
  await stands(handle, { stage: 'following' });
  const { orderId } = await standingOf(handle);
  const other = stranger();
  await handle.signal('orderNamed', { orderId: other } as never);
  await handle.executeUpdate('cancelRide');
  expect(await handle.result()).toMatchObject({ orderId, outcome: 'cancelled' });
  expect(reads(other)).toBe(0);
  await portOf(stack).toRide({ account, requestId, orderId: toOrderId(other) });
});

it('a ride of another account is not told', async () => {
  const ride = await lost();
  await asksAPerson(ride.handle);
  const elsewhere = { account: toAccountName('partner'), requestId: ride.requestId, orderId: toOrderId(ride.orderId) };
  await portOf(stack).toRide(elsewhere);
  await resolve(ride.handle, { giveUp: true, reason: 'not told' });
  expect(reads(ride.orderId)).toBe(0);
});

describe('a person who decides while the order is read', () => {
  /** A ride that reads its order, which takes two seconds. */
  async function reading(delayMs = 2_000) {
    const ride = await lost();
    await asksAPerson(ride.handle);
    stack.sandbox.setFault({
      kind: 'slow',
      operation: 'orderDetails',
      orderId: ride.orderId,
      delayMs,
      times: 1,
    });
    await ride.name({ orderId: ride.orderId });
    await vi.waitFor(() => expect(reads(ride.orderId)).toBe(1), patient);
    return ride;
  }

  it('and names it, too: one of both is first, and one order is followed', async () => {
    const ride = await reading();
    await resolve(ride.handle, { orderId: ride.orderId });
    await endsRight(ride);
  });

  it('for another order that takes longer to check: the run is first, and the person is told', async () => {
    const ride = await reading();
    const other = stranger();
    stack.sandbox.setFault({ kind: 'slow', operation: 'orderDetails', orderId: other, delayMs: 4_000, times: 1 });
    expect(await failureOf(resolve(ride.handle, { orderId: other }))).toMatchObject({ type: 'AlreadyDecided' });
    await endsRight(ride);
  });

  it('and gives up: the person is first, and does not wait for the read', async () => {
    const { handle } = await reading(9_000);
    const from = Date.now();
    await resolve(handle, { giveUp: true, reason: 'too late' });
    expect(Date.now() - from).toBeLessThan(6_000);
    expect(await failureOf(handle.result())).toMatchObject({ type: 'OutcomeUnknown' });
  });
});
