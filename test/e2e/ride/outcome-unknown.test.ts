import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withoutRequestIds } from '../../support/accounts.js';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';
import { failureOf, goesOn, requestedRide, standingOf, stands } from '../../support/ride/rides.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: withoutRequestIds() });
  stack.sandbox.setBookingSettings({ script: goesOn });
});
afterAll(() => stack.close());
afterEach(() => stack.sandbox.clearFaults());

const lostAnswer = { kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 } as const;
const shownAttention = async (handle: Awaited<ReturnType<typeof requestedRide>>['handle']) =>
  (await handle.describe()).searchAttributes.RideAttention?.[0] ?? null;

/** A ride of which nobody knows whether its order was made. It was. */
async function unknown() {
  const before = stack.sandbox.createdOrders().length;
  stack.sandbox.setFault(lostAnswer);
  const ride = await requestedRide(stack);
  await stands(ride.handle, { stage: 'requesting', orderId: null, attention: { code: 'outcomeUnknown' } });
  const made = () => stack.sandbox.createdOrders().slice(before);
  return { ...ride, made, orderId: made()[0]?.orderId ?? '' };
}

describe('a create whose answer was lost, at a service that knows no create by its id', () => {
  it('is not repeated: it waits for a person, and takes no change meanwhile', async () => {
    const { handle, made } = await unknown();
    await expect.poll(() => shownAttention(handle)).toBe('outcomeUnknown');
    const changes = [
      handle.executeUpdate('cancelRide'),
      handle.executeUpdate('updateRide', { args: [{ order: { a: 1 } }] }),
    ];
    // Waited for together: a rejection that nobody waits for yet would count as unhandled.
    for (const failure of await Promise.all(changes.map(failureOf))) {
      expect(failure).toMatchObject({ type: 'OutcomeUnknown' });
    }
    expect(made()).toHaveLength(1);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  });

  it('is resolved by the id of its order; a wrong one comes back', async () => {
    const { handle, made, orderId } = await unknown();
    const wrong = await failureOf(handle.executeUpdate('resolveRide', { args: [{ orderId: '404404' }] }));
    expect(wrong).toMatchObject({ type: 'OrderNotFound' });
    expect(await standingOf(handle)).toMatchObject({ attention: { code: 'outcomeUnknown' } });
    const standing = await handle.executeUpdate('resolveRide', { args: [{ orderId }] });
    expect(standing).toMatchObject({ orderId, attention: null });
    await expect.poll(() => shownAttention(handle)).toBeNull();
    const late = await failureOf(handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] }));
    expect(late).toMatchObject({ type: 'AlreadyDecided' });
    await handle.executeUpdate('cancelRide');
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'cancelled' });
    expect(made()).toHaveLength(1);
  });

  it('is resolved by the id of an order whose following has failed before', async () => {
    const { handle, orderId } = await unknown();
    const workflowId = `order/business/${orderId}`;
    const { taskQueue } = stack.config;
    const misspelt = await stack.client.workflow.start('followOrder', {
      workflowId,
      taskQueue,
      args: [{ order: orderId }],
    });
    await failureOf(misspelt.result());
    await handle.executeUpdate('resolveRide', { args: [{ orderId }] });
    await stands(handle, { stage: 'following', status: 'Routing' });
    await handle.executeUpdate('cancelRide');
    expect(await handle.result()).toMatchObject({ orderId, outcome: 'cancelled' });
  });

  it('is tried again when a person says so, and may be lost again', async () => {
    const { handle, made } = await unknown();
    stack.sandbox.setFault({ ...lostAnswer, when: 'request' });
    const again = await handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
    expect(again).toMatchObject({ stage: 'requesting', attention: { code: 'outcomeUnknown' } });
    const standing = await handle.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
    expect(standing).toMatchObject({ stage: 'following', orderId: made()[1]?.orderId, attention: null });
    expect(made()).toHaveLength(2); // the person was wrong; the worker did as it was told
    await handle.executeUpdate('cancelRide');
    await handle.result();
  });

  it('is given up with a reason, which is how the run fails', async () => {
    const { handle } = await unknown();
    const standing = await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'booked by phone' }] });
    expect(standing).toMatchObject({ stage: 'ended', orderId: null, attention: null });
    const failure = await failureOf(handle.result());
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', message: /booked by phone/ });
  });
});
