import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FaultInput } from '../../../sandbox/faults.js';
import type { OperationName } from '../../../sandbox/operations.js';
import { newRide } from '../../sandbox/booking-calls.js';
import { startCall } from '../../support/call/calls.js';
import { jsonFile } from '../../support/json-file.js';
import { isLong } from '../../support/long.js';
import { type OrderStack, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  failureOf,
  goesOn,
  ordersOf,
  type RideRun,
  requestedRide,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { faultForms, hits } from '../../support/ride/with-fault.js';
import { eventsOf, pendingOf } from '../../support/runs.js';
import { startFleet } from '../../support/worker/fleet.js';

// The profile names a search, so a create whose answer was lost is looked for before a person is asked.

const searching = (more: object = {}) => ({
  FARETRAIL_CONTRACT_FILE: jsonFile({ operations: { findOrder: { enabled: true, ...more } } }),
});
const stack = useOrderStack({ env: searching() });
beforeAll(() => stack.sandbox.setBookingSettings({ script: goesOn, forgetsRequestIds: true }));

const lostAnswer = { kind: 'dropConnection', operation: 'createOrder', when: 'answer' } as const;
const calls = (operation: OperationName, { sandbox }: Pick<OrderStack, 'sandbox'> = stack) =>
  sandbox.ledger({ operation }).length;

/** The next create has this fault. */
function creating(fault: FaultInput, { sandbox }: OrderStack = stack): void {
  sandbox.setFault({ times: 1, ...fault, operation: 'createOrder' });
  sandbox.resetLedger();
  onTestFinished(() => sandbox.clearFaults());
}

/** The ride follows the order that its create made, the only one, and no person was asked on the way. */
async function endsRight({ handle, requestId }: { handle: RideRun; requestId: string }): Promise<void> {
  const [order, ...others] = ordersOf(stack, requestId);
  await stands(handle, { stage: 'following', orderId: order?.orderId, attention: null });
  await handle.executeUpdate('cancelRide');
  expect(await handle.result()).toMatchObject({ orderId: order?.orderId, outcome: 'cancelled' });
  expect(others).toEqual([]);
  const shown = (await eventsOf(handle)).map(({ upsertWorkflowSearchAttributesEventAttributes: change }) =>
    Buffer.from(change?.searchAttributes?.indexedFields?.RideAttention?.data ?? []).toString(),
  );
  expect(shown, 'attention on the way').not.toContain('"outcomeUnknown"');
}

describe('a ride whose create has a fault', () => {
  const faults = Object.values(faultForms)
    .flat()
    .filter(({ kind }) => hits(kind, 'createOrder'));

  it.each(faults)('%j ends right where an order was made, and orders nothing twice', async (fault) => {
    creating(fault);
    const ride = await requestedRide(stack);
    const ended = ride.handle.result().then(
      () => 'ended',
      () => 'failed',
    );
    const isClear = async () => (await standingOf(ride.handle)).stage !== 'requesting' || calls('findOrder') >= 2;
    await vi.waitFor(async () => expect(await isClear()).toBe(true), patient);
    if (ordersOf(stack, ride.requestId).length > 0) return await endsRight(ride);
    // Refused, or nobody can know yet that no order was made.
    const { stage, attention } = await standingOf(ride.handle);
    expect(attention).toBeNull();
    if (stage === 'ended') return expect(await ended).toBe('failed');
    expect(calls('createOrder')).toBe(1);
    await ride.handle.terminate();
    await ended;
  });
});

it('an order that the search shows only after five seconds is waited for', async () => {
  stack.sandbox.setBookingSettings({ searchLagMs: 5_000 });
  onTestFinished(() => void stack.sandbox.setBookingSettings({ searchLagMs: 0 }));
  creating(lostAnswer);
  const ride = await requestedRide(stack);
  await stands(ride.handle, { stage: 'following' });
  expect(calls('findOrder')).toBeGreaterThan(2);
  expect(calls('findOrder')).toBeLessThan(7);
  await endsRight(ride);
});

it('a call finds its order too, with the result of a create', async () => {
  creating(lostAnswer);
  const handle = await startCall(stack, 'createOrder', { body: newRide() });
  const made = () => stack.sandbox.createdOrders().find(({ requestId }) => requestId === handle.workflowId);
  const result = await handle.result();
  const { orderId } = made() ?? {};
  expect(result).toMatchObject({ operation: 'createOrder', status: 200, orderId, body: { id: orderId } });
  expect(orderId).toBeDefined();
  expect(calls('createOrder')).toBe(1);
});

it('a search that names no request id proves nothing', async () => {
  stack.sandbox.setBookingSettings({ requestIdIn: [] });
  onTestFinished(() => void stack.sandbox.setBookingSettings({ requestIdIn: ['search'] }));
  creating(lostAnswer);
  const { handle } = await requestedRide(stack);
  const last = async () => (await pendingOf(handle))[0]?.failure;
  await vi.waitFor(async () => expect(await last()).toContain('no order with its request id was found'), patient);
  expect(await standingOf(handle)).toMatchObject({ stage: 'requesting', orderId: null });
  await handle.terminate();
});

describe('a ride whose profile has the wrong path of the search', () => {
  const wrong = useOrderStack({ env: searching({ path: '/v9/orders?requestId={request_id}' }) });

  it('sends no second create, and the message names the path', { timeout: 180_000 }, async () => {
    creating(lostAnswer, wrong);
    const { handle } = await requestedRide(wrong);
    const last = async () => (await pendingOf(handle))[0]?.failure;
    await vi.waitFor(async () => expect(await last()).toContain('operations.findOrder.path'), patient);
    if (isLong) {
      const message = expect.stringMatching(/Searched for its order for 1\d\d s.*operations\.findOrder\.path/);
      const asksAPerson = async () =>
        expect(await standingOf(handle)).toMatchObject({ attention: { code: 'outcomeUnknown', message } });
      await vi.waitFor(asksAPerson, { timeout: 150_000, interval: 1_000 });
      await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'looked' }] });
      expect(await failureOf(handle.result())).toMatchObject({ type: 'OutcomeUnknown' });
    } else await handle.terminate();
    expect(calls('createOrder', wrong)).toBe(1);
  });
});

// A worker that dies in a call is noticed only when the time of that call is over.
it.runIf(isLong)(
  'a ride whose worker is killed during the create is found by the next one',
  async () => {
    const fleet = await startFleet(1, { env: searching() });
    onTestFinished(() => fleet.close());
    const { sandbox, place } = fleet;
    sandbox.setBookingSettings({ script: goesOn, forgetsRequestIds: true });
    sandbox.setFault({ kind: 'slow', operation: 'createOrder', delayMs: 4_000, times: 1 });
    const { handle } = await requestedRide(place);
    await vi.waitFor(() => expect(sandbox.createdOrders()).toHaveLength(1), patient);
    await fleet.workers.splice(0)[0]?.kill();
    await fleet.addWorker();
    const [order] = sandbox.createdOrders();
    await vi.waitFor(
      async () => expect(await standingOf(handle)).toMatchObject({ stage: 'following', orderId: order?.orderId }),
      { timeout: 120_000, interval: 500 },
    );
    expect(calls('createOrder', fleet)).toBe(1);
    expect(calls('findOrder', fleet)).toBe(1);
    await handle.executeUpdate('cancelRide');
    expect(await handle.result()).toMatchObject({ outcome: 'cancelled' });
    expect(sandbox.createdOrders()).toHaveLength(1);
  },
  240_000,
);
