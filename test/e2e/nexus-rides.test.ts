import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureEndpoint } from '../../local/stack/nexus-endpoint.js';
import { inMs, newRide } from '../sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { account, completes, goesOn, ordersOf } from '../support/ride/rides.js';
import { type CallerWorker, startCallerWorker } from '../support/worker/caller-worker.js';
import type { ask, Seen } from '../support/worker/caller-workflows.js';

let stack: OrderStack;
let caller: CallerWorker;
const endpoint = `rides-${randomUUID()}`;

beforeAll(async () => {
  stack = await startOrderStack();
  await ensureEndpoint(stack.client, { name: endpoint, taskQueue: stack.config.taskQueue });
  caller = await startCallerWorker(stack, { namespace: `trips-${randomUUID()}` });
}, 120_000);
beforeEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setBookingSettings({ script: goesOn });
});
afterAll(async () => {
  await caller?.close();
  await stack?.close();
});

type Operation = Parameters<typeof ask>[1];
const asks = (operation: Operation, input: unknown): Promise<Seen> =>
  caller.client.workflow.execute<typeof ask>('ask', {
    workflowId: randomUUID(),
    taskQueue: caller.taskQueue,
    args: [endpoint, operation, input],
  });
const becomes = (operation: Operation, input: unknown, answer: object) =>
  expect.poll(() => asks(operation, input)).toMatchObject({ answer });

const scheduled = () => newRide({ scheduled_at: inMs(86_400_000) });

/** A ride that goes on, asked for by a caller who waits for its end. */
async function requested(order: object = newRide()) {
  const key = { account, requestId: randomUUID() };
  const end = asks('requestRide', { ...key, order });
  await becomes('rideStatus', key, { stage: 'following' });
  return { key, end };
}

/** Longer than one look at an answer; in the long run longer than an operation may take to be answered at all. */
const slowlyMs = isLong ? 15_000 : 6_000;

describe('a workflow in another namespace', () => {
  it('orders a ride once however often it asks, and has its result, afterwards too', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const input = { account, requestId: randomUUID(), order: newRide() };
    const [one, two] = await Promise.all([asks('requestRide', input), asks('requestRide', input)]);
    expect(one).toMatchObject({ answer: { outcome: 'completed', trail: { status: 'Completed' } } });
    expect(two).toEqual(one);
    expect(await asks('requestRide', input)).toEqual(one);
    expect(ordersOf(stack, input.requestId)).toHaveLength(1);
  });

  it('changes its ride where the service allows it, sees where it stands, and cancels it', async () => {
    stack.sandbox.setBookingSettings({ script: null });
    const { key, end } = await requested(scheduled());
    await becomes('rideStatus', key, { status: 'Reserved' });
    const changed = await asks('updateRide', { ...key, order: { note_to_driver: 'blue door' } });
    expect(changed).toMatchObject({ answer: { stage: 'following', status: 'Reserved' } });
    expect(await asks('updateRide', { ...key, order: { scheduled_at: '2020-01-01T00:00:00Z' } })).toMatchObject({
      type: 'Refused',
      details: [{ status: 422, code: 'SCHEDULED_IN_THE_PAST', message: expect.any(String) }],
    });
    expect(await asks('cancelRide', key)).toMatchObject({ answer: { status: 'Cancelled', outcome: 'cancelled' } });
    expect(await end).toMatchObject({ answer: { outcome: 'cancelled' } });
    expect(ordersOf(stack, key.requestId)).toMatchObject([{ order: { note_to_driver: 'blue door' } }]);
    expect(await asks('cancelRide', key)).toEqual({ type: 'AlreadyEnded' });
  });

  it('is answered by a slow service, too, and does not delay other calls meanwhile', { timeout: 90_000 }, async () => {
    stack.sandbox.setBookingSettings({ script: null });
    const [{ key, end }, other] = await Promise.all([requested(scheduled()), requested()]);
    await becomes('rideStatus', key, { status: 'Reserved' });
    stack.sandbox.setFault({ kind: 'slow', operation: 'updateOrder', delayMs: slowlyMs, times: 1 });
    // One waits for the service and the others behind it: more than it takes for a server to give up on an endpoint.
    const doors = ['blue', 'red', 'green', 'white', 'black', 'grey', 'brown'];
    const changes = doors.map((door) => asks('updateRide', { ...key, order: { note_to_driver: `${door} door` } }));
    await sleep(slowlyMs - 1_000);
    expect(await asks('cancelRide', other.key)).toMatchObject({ answer: { outcome: 'cancelled' } });
    expect(await other.end).toMatchObject({ answer: { outcome: 'cancelled' } });
    for (const change of await Promise.all(changes)) expect(change).toMatchObject({ answer: { status: 'Reserved' } });
    const [{ orderId = '' } = {}] = ordersOf(stack, key.requestId);
    expect(stack.sandbox.ledger({ operation: 'updateOrder', orderId })).toHaveLength(doors.length);
    await asks('cancelRide', key);
    expect(await end).toMatchObject({ answer: { outcome: 'cancelled' } });
  });

  it('resolves a ride whose create had an unknown outcome', async () => {
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    stack.sandbox.setFault({ kind: 'forbidden', operation: 'createOrder', times: 1 });
    const key = { account, requestId: randomUUID() };
    const end = asks('requestRide', { ...key, order: newRide() });
    await becomes('rideStatus', key, { attention: { code: 'outcomeUnknown' } });
    expect(await asks('cancelRide', key)).toEqual({ type: 'OutcomeUnknown' });
    const [{ orderId } = {}] = ordersOf(stack, key.requestId);
    expect(await asks('resolveRide', { ...key, orderId })).toMatchObject({ answer: { orderId, attention: null } });
    await asks('cancelRide', key);
    expect(await end).toMatchObject({ answer: { orderId, outcome: 'cancelled' } });
  });

  it('makes a business call once for each key', async () => {
    const call = { account, operation: 'createOrder', key: randomUUID(), body: newRide() };
    const before = stack.sandbox.createdOrders().length;
    const answer = await asks('businessCall', call);
    expect(answer).toMatchObject({ answer: { operation: 'createOrder', orderId: expect.any(String) } });
    expect(await asks('businessCall', call)).toEqual(answer);
    expect(stack.sandbox.createdOrders().length - before).toBe(1);
  });

  const key = { account, requestId: 'nobody-asked-for-it' };
  it.each([
    ['requestRide', { ...key, order: newRide(), poll: 5 }, 'InvalidInput'],
    ['requestRide', { account, requestId: randomUUID(), order: newRide({ stops: [] }) }, 'InvalidInput'],
    ['rideStatus', { account, orderId: '1' }, 'InvalidInput'],
    ['rideStatus', key, 'RideNotRequested'],
    ['updateRide', { ...key, order: {} }, 'InvalidInput'],
    ['updateRide', { ...key, order: { note_to_driver: 'x' } }, 'RideNotRequested'],
    ['cancelRide', { ...key, reason: 'late' }, 'InvalidInput'],
    ['cancelRide', null, 'InvalidInput'],
    ['cancelRide', key, 'RideNotRequested'],
    ['resolveRide', { ...key, tryAgain: false }, 'InvalidInput'],
    ['businessCall', { account, operation: 'bookTrain', key: 'x' }, 'InvalidInput'],
    ['businessCall', { account, operation: 'orderDetails', key: randomUUID(), orderId: 'nobody' }, 'OrderNotFound'],
  ] as const)('is refused at once: %s of %j, %s', async (operation, input, type) => {
    expect(await asks(operation, input)).toMatchObject({ type });
  });
});
