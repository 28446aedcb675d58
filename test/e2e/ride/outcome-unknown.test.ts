import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FaultInput } from '../../../dev/sandbox/faults.js';
import type { RideStanding } from '../../../src/domain/ride/ride.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { startCall } from '../../support/call/calls.js';
import { noticesOf } from '../../support/notify/notices.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { answers, names, placesOfId } from '../../support/ride/doubt.js';
import { faultForms, hitsCalls } from '../../support/ride/fault-forms.js';
import {
  createsOf,
  doubtfulRide,
  failureOf,
  goesOn,
  ordersOf,
  type RideRun,
  requestedRide,
  shortLimits,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { attributeOf, isPending } from '../../support/runs.js';

const stack = useOrderStack();
beforeAll(() => stack.sandbox.setRideSettings({ script: goesOn }));

/** The next creates have this fault. Gives the orders made from now on. */
function creating(fault: FaultInput) {
  stack.sandbox.setFault({ times: 1, ...fault, operation: 'createOrder' });
  onTestFinished(() => stack.sandbox.clearFaults());
  const before = stack.sandbox.createdOrders().length;
  return () => stack.sandbox.createdOrders().slice(before);
}

it('a create is sent again, under the same request id, where the service surely did not take it', async () => {
  // More than once: each attempt has to hear of the one right before it.
  const made = creating({ kind: 'tooManyRequests', retryAfterSeconds: 1, times: 2 });
  const handle = await startCall(stack, 'createOrder', { body: newRide() });
  expect(await handle.result()).toMatchObject({ status: 201 });
  expect(made()).toMatchObject([{ orderId: expect.any(String) }]);
  expect(made()[0]?.requestId).toBe(handle.workflowId);
});

describe('a ride whose create lost its answer, while no repeat is known to be safe', () => {
  const shown = (handle: RideRun) => attributeOf(handle, 'RideAttention');
  const made = (requestId: string) => ordersOf(stack, requestId);

  it('does not create again: it waits for a person, and takes no change meanwhile', async () => {
    const { handle, requestId } = await doubtfulRide(stack);
    await expect.poll(() => shown(handle)).toBe('outcomeUnknown');
    const changes = [
      handle.executeUpdate('cancelRide'),
      handle.executeUpdate('updateRide', { args: [{ order: { a: 1 } }] }),
    ];
    // Awaited together: a rejection that is not awaited yet would count as unhandled.
    for (const failure of await Promise.all(changes.map(failureOf)))
      expect(failure).toMatchObject({ type: 'OutcomeUnknown' });
    expect(made(requestId)).toHaveLength(1);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  });

  it('is resolved by the id of its order; a wrong one is refused', async () => {
    const { handle, requestId, orderId, resolve, cancelled } = await doubtfulRide(stack);
    expect(await failureOf(resolve({ orderId: '404404' }))).toMatchObject({ type: 'OrderNotFound' });
    expect(await standingOf(handle)).toMatchObject({ attention: { code: 'outcomeUnknown' } });
    expect(await resolve({ orderId })).toMatchObject({ orderId, attention: null });
    await expect.poll(() => shown(handle)).toBeNull();
    expect(await failureOf(resolve({ tryAgain: true }))).toMatchObject({ type: 'AlreadyDecided' });
    expect(await cancelled()).toMatchObject({ orderId, outcome: 'cancelled' });
    expect(made(requestId)).toHaveLength(1);
  });

  it('is resolved by the id of an order whose following has failed before', async () => {
    const { handle, orderId, resolve, cancelled } = await doubtfulRide(stack);
    const { taskQueue } = stack.config;
    const start = { workflowId: `order/business/${orderId}`, taskQueue, args: [{ order: orderId }] };
    await failureOf(stack.client.workflow.execute('followOrder', start));
    await resolve({ orderId });
    await stands(handle, { stage: 'following', status: 'Routing' });
    expect(await cancelled()).toMatchObject({ orderId, outcome: 'cancelled' });
  });

  it('is tried again when a person says so, and may be lost again', async () => {
    stack.sandbox.setRideSettings({ forgetsRequestIds: true });
    onTestFinished(() => void stack.sandbox.setRideSettings({ forgetsRequestIds: false }));
    const { requestId, resolve, cancelled } = await doubtfulRide(stack);
    creating({ kind: 'dropConnection', when: 'request' });
    const again = await resolve({ tryAgain: true });
    expect(again).toMatchObject({ stage: 'requesting', attention: { code: 'outcomeUnknown' } });
    const standing = await resolve({ tryAgain: true });
    expect(standing).toMatchObject({ stage: 'following', orderId: made(requestId)[1]?.orderId, attention: null });
    expect(made(requestId)).toHaveLength(2); // the person was wrong; the worker did as it was told
    await cancelled();
  });

  it('is given up with a reason, which is how the run fails', async () => {
    const { handle, resolve } = await doubtfulRide(stack);
    const standing = await resolve({ giveUp: true, reason: 'booked by phone' });
    expect(standing).toMatchObject({ stage: 'ended', orderId: null, attention: null });
    expect(await failureOf(handle.result())).toMatchObject({ type: 'OutcomeUnknown', message: /booked by phone/ });
  });

  it('is recorded where only the claim of its dead worker said that there is a store', async () => {
    const { handle, resolve } = await doubtfulRide(stack);
    for (const claim of [null, {}, { name: 'createOrder 1 ', by: 'its worker', stores: true }])
      await handle.signal('claimed', claim);
    await resolve({ giveUp: true, reason: 'never ordered' });
    await failureOf(handle.result());
    await isPending(noticesOf(stack, handle, 'store'), 'recordChange');
  });
});

// A service that knows no create by its id is what an assumption may not be trusted with. Each ride meets one fault, or some.
it('a create makes no second order at a service that forgets request ids, whatever fault it meets', async () => {
  stack.sandbox.setRideSettings({ forgetsRequestIds: true });
  onTestFinished(() => void stack.sandbox.setRideSettings({ forgetsRequestIds: false }));
  onTestFinished(() => stack.sandbox.clearFaults());
  const faults = Object.values(faultForms).flat().filter(hitsCalls);
  for (const fault of faults) stack.sandbox.setFault({ times: 1, ...fault, operation: 'createOrder' });
  const since = new Date().toISOString();
  const rides = await Promise.all(faults.map(() => requestedRide(stack)));
  await Promise.all(rides.map(endsWithOneOrder));
  const met = stack.sandbox.ledger({ operation: 'createOrder', since }).flatMap(({ fault }) => fault ?? []);
  expect(met, 'each fault has hit a create').toHaveLength(faults.length);
});

async function endsWithOneOrder({ handle, requestId }: Awaited<ReturnType<typeof requestedRide>>): Promise<void> {
  const made = () => ordersOf(stack, requestId);
  const ended = handle.result().then(
    () => 'ended',
    () => 'failed',
  );
  const standing = async () => {
    const { attention, stage } = await standingOf(handle);
    return attention?.code ?? stage;
  };
  await vi.waitFor(async () => expect(await standing()).toMatch(/^(following|ended|outcomeUnknown)$/), patient);
  if ((await standing()) === 'outcomeUnknown') {
    const orderId = made()[0]?.orderId;
    const resolution = orderId === undefined ? { giveUp: true, reason: 'no order was made' } : { orderId };
    await handle.executeUpdate('resolveRide', { args: [resolution as never] });
    if (orderId === undefined) return expect(await ended).toBe('failed');
  }
  const faultsMet = JSON.stringify(createsOf(stack, requestId));
  expect(made().length, faultsMet).toBeLessThanOrEqual(1);
  if ((await standing()) === 'following') await handle.executeUpdate('cancelRide');
  await ended;
  expect(made().length, faultsMet).toBeLessThanOrEqual(1);
}

// The rows of the table in docs/how-to/react-to-attention.md, at a real service that answers the second create so.
describe.each(answers)('a ride in doubt, whose next create is answered %s', (answer) => {
  it.each(placesOfId)('with an order id in %s', async (place) => {
    const { handle, requestId, orderId, resolve, cancelled } = await doubtfulRide(stack);
    const { body, headers } = names(place, orderId);
    creating(answer === 'none' ? { kind: 'dropConnection' } : { kind: 'reply', status: answer, body, headers });
    const standing = (await resolve({ tryAgain: true })) as RideStanding;
    if (answer === 429 && place === 'neither') {
      // The service did not take it. The next attempt is answered with the order.
      expect(standing).toMatchObject({ stage: 'following', orderId });
    } else {
      const named = answer !== 'none' && place !== 'neither';
      expect(standing).toMatchObject({
        stage: 'requesting',
        orderId: null,
        attention: { code: 'outcomeUnknown', message: expect.stringContaining('faretrail ride resolve business') },
        ...(named ? { suggestedOrderId: orderId } : {}),
      });
      expect(standing.attention?.message).not.toMatch(/another key/);
      const change = handle.executeUpdate('cancelRide');
      expect(await failureOf(change)).toMatchObject({ type: 'OutcomeUnknown' });
      expect(await resolve({ orderId })).toMatchObject({ orderId, attention: null });
    }
    expect(ordersOf(stack, requestId)).toHaveLength(1);
    await cancelled();
  });
});

it('a ride in doubt is given up, or tried again once more, after its second create was refused', async () => {
  const [gone, repeated] = [await doubtfulRide(stack), await doubtfulRide(stack)];
  for (const { resolve } of [gone, repeated]) {
    creating({ kind: 'reply', status: 409, body: names('neither', '').body });
    expect(await resolve({ tryAgain: true })).toMatchObject({ attention: { code: 'outcomeUnknown' } });
  }
  await gone.resolve({ giveUp: true, reason: 'guest has left' });
  expect(await failureOf(gone.handle.result())).toMatchObject({ type: 'OutcomeUnknown', message: /guest has left/ });
  expect(await repeated.resolve({ tryAgain: true })).toMatchObject({ stage: 'following', orderId: repeated.orderId });
  await repeated.cancelled();
});

it('a ride stays in doubt through refusals, lost answers, a success that names no order, and continue-as-new', async () => {
  const limits = { ...shortLimits, maxEvents: 12 };
  const { handle, requestId, orderId, resolve, cancelled } = await doubtfulRide(stack, {}, { limits });
  const answers: FaultInput[] = [
    { kind: 'reply', status: 409, ...names('Location', orderId) },
    { kind: 'dropConnection' },
    { kind: 'reply', status: 402, body: names('neither', '').body },
    { kind: 'reply', status: 201, body: {} },
    { kind: 'forbidden' },
    { kind: 'serverError' },
  ];
  for (const answer of answers) {
    creating(answer);
    const standing = (await resolve({ tryAgain: true })) as RideStanding;
    // The order that the first of them named is offered after each.
    expect(standing).toMatchObject({ orderId: null, attention: { code: 'outcomeUnknown' }, suggestedOrderId: orderId });
    expect(standing.attention?.message).toContain(
      `\`faretrail ride resolve business ${requestId} --order ${orderId}\``,
    );
    const change = await failureOf(handle.executeUpdate('updateRide', { args: [{ order: { a: 1 } }] }));
    expect(change).toMatchObject({ type: 'OutcomeUnknown', message: expect.stringContaining(`ride resolve business`) });
    for (const text of [change.message, standing.attention?.message]) expect(text).not.toMatch(/another key/);
  }
  expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
  expect(await resolve({ orderId })).toMatchObject({ orderId, attention: null, suggestedOrderId: null });
  expect(ordersOf(stack, requestId)).toHaveLength(1);
  await cancelled();
});

it.each(['403', '422'] as const)(
  'a named order that cannot be read (%s) is not taken, and the ride waits on',
  async (status) => {
    const { handle, orderId, resolve, cancelled } = await doubtfulRide(stack);
    stack.sandbox.setFault({ kind: 'reply', operation: 'orderDetails', status: Number(status), body: {}, times: 1 });
    onTestFinished(() => stack.sandbox.clearFaults());
    expect((await failureOf(resolve({ orderId }))).message).not.toMatch(/another key/);
    expect(await standingOf(handle)).toMatchObject({ orderId: null, attention: { code: 'outcomeUnknown' } });
    await resolve({ orderId });
    await cancelled();
  },
);
