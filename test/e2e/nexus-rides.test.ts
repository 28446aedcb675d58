import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureEndpoint } from '../../local/stack/nexus-endpoint.js';
import { inMs, newRide } from '../sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { account, goesOn, ordersOf } from '../support/ride/rides.js';
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
    expect(await asks('updateRide', { ...key, order: { scheduled_at: '2020-01-01T00:00:00Z' } })).toMatchObject({
      type: 'Refused',
      details: [{ status: 422, code: 'SCHEDULED_IN_THE_PAST', message: expect.any(String) }],
    });
    await asks('cancelRide', key);
    expect(await end).toMatchObject({ answer: { outcome: 'cancelled' } });
  });

  const key = { account, requestId: 'nobody-asked-for-it' };
  it.each([
    ['requestRide', { ...key, order: newRide(), poll: 5 }, 'InvalidInput'],
    ['requestRide', { account, requestId: randomUUID(), order: newRide({ stops: [] }) }, 'InvalidInput'],
    ['rideStatus', { account, orderId: '1' }, 'InvalidInput'],
    ['rideStatus', key, 'RideNotRequested'],
    ['updateRide', { ...key, order: {} }, 'InvalidInput'],
    ['cancelRide', { ...key, reason: 'late' }, 'InvalidInput'],
    ['cancelRide', null, 'InvalidInput'],
    ['resolveRide', { ...key, tryAgain: false }, 'InvalidInput'],
    ['businessCall', { account, operation: 'bookTrain', key: 'x' }, 'InvalidInput'],
  ] as const)('is refused at once: %s of %j, %s', async (operation, input, type) => {
    expect(await asks(operation, input)).toMatchObject({ type });
  });
});
