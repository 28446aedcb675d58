import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureEndpoint } from '../../dev/stack/run/nexus-endpoint.js';
import { inMs, newRide } from '../dev/sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { goesOn, ordersOf } from '../support/ride/rides.js';
import { useCallerWorker } from '../support/worker/caller-worker.js';
import type { ask, askAndLeave, Seen } from '../support/worker/caller-workflows.js';

const stack = useOrderStack();
const caller = useCallerWorker(stack);
const endpoint = `rides-${randomUUID()}`;
const account = 'business';
beforeAll(async () => {
  // As a local stack does each time it starts, whatever an earlier one left behind.
  for (const taskQueue of ['of-an-earlier-stack', stack.config.taskQueue, stack.config.taskQueue]) {
    await ensureEndpoint(stack.client, { name: endpoint, taskQueue });
  }
});

const inCaller = () => ({ workflowId: randomUUID(), taskQueue: caller.taskQueue });
type Operation = Parameters<typeof ask>[1];
const asks = (operation: Operation, input: unknown): Promise<Seen> =>
  caller.client.workflow.execute<typeof ask>('ask', { ...inCaller(), args: [endpoint, operation, input] });
const becomes = (operation: Operation, input: unknown, answer: object): Promise<void> =>
  vi.waitFor(async () => expect(await asks(operation, input)).toMatchObject({ answer }), patient);
const endOf = (orderId: string) => stack.sandbox.setStatus(account, orderId, 'Completed');

describe.concurrent('a workflow in another namespace', () => {
  it('shares the run with others, and reads the trail while the run goes on and after its end', async () => {
    const order = { account, orderId: stack.newOrder(account, [['Driving', 0]]) };
    const handle = await stack.follow(account, order.orderId);
    const following = Promise.all([1, 2].map(() => asks('followOrder', order)));
    await becomes('orderTrail', order, { orderId: order.orderId, outcome: null });
    endOf(order.orderId);
    const answer = await handle.result();
    expect(await following).toEqual([{ answer }, { answer }]);
    expect([await asks('orderTrail', order), await asks('followOrder', order)]).toEqual([{ answer }, { answer }]);
  });

  it('that gives up does not stop the order for others', async () => {
    const order = { account, orderId: stack.newOrder(account, [['Driving', 0]]) };
    const staying = asks('followOrder', order);
    const leaving = await caller.client.workflow.execute<typeof askAndLeave>('askAndLeave', {
      ...inCaller(),
      args: [endpoint, order, 'WAIT_CANCELLATION_REQUESTED'],
    });
    expect(leaving).toEqual({ isCancelled: true });
    endOf(order.orderId);
    expect(await staying).toMatchObject({ answer: { outcome: 'completed' } });
  });

  const ride = { account, requestId: 'never-requested' };
  it.each([
    ['followOrder', { account, orderId: '' }, 'InvalidInput'],
    ['followOrder', { account, orderId: 'x', poll: 5 }, 'InvalidInput'],
    ['followOrder', { account, orderId: 'x', again: 'yes' }, 'InvalidInput'],
    ['followOrder', null, 'InvalidInput'],
    ['orderTrail', { account: 'Not A Name', orderId: 'x' }, 'InvalidInput'],
    ['orderTrail', { account, orderId: 'never-followed' }, 'OrderNotFollowed'],
    ['requestRide', { ...ride, order: newRide(), poll: 5 }, 'InvalidInput'],
    ['requestRide', { account, requestId: randomUUID(), order: newRide({ stops: [] }) }, 'InvalidInput'],
    ['requestRide', { account, requestId: randomUUID(), order: newRide({ fee: 2 ** 53 }) }, 'InvalidInput'],
    ['rideStatus', { account, orderId: '1' }, 'InvalidInput'],
    ['rideStatus', ride, 'RideNotRequested'],
    ['updateRide', { ...ride, order: {} }, 'InvalidInput'],
    ['updateRide', { ...ride, order: { fee: 2 ** 53 } }, 'InvalidInput'],
    ['cancelRide', { ...ride, reason: 'late' }, 'InvalidInput'],
    ['cancelRide', null, 'InvalidInput'],
    ['cancelRide', ride, 'RideNotRequested'],
    ['resolveRide', { ...ride, tryAgain: false }, 'InvalidInput'],
    ['businessCall', { account, operation: 'bookTrain', key: 'x' }, 'InvalidInput'],
  ] as const)('is refused at once: %s of %j, %s', async (operation, input, type) => {
    expect(await asks(operation, input)).toMatchObject({ type });
  });
});

/** A ride that goes on, requested by a caller who waits for its end. */
async function requested(order: object = newRide()) {
  const key = { account, requestId: randomUUID() };
  const end = asks('requestRide', { ...key, order });
  await becomes('rideStatus', key, { stage: 'following' });
  return { key, end };
}

/** Longer than one look at an answer; in the long run longer than an operation may take to be answered at all. */
const slowlyMs = isLong ? 15_000 : 6_000;

it('a workflow in another namespace is answered by a slow service, too, and does not delay other calls meanwhile', {
  timeout: 600_000,
}, async () => {
  stack.sandbox.setRideSettings({ script: goesOn });
  const other = await requested();
  stack.sandbox.setRideSettings({ script: null });
  const { key, end } = await requested(newRide({ scheduled_at: inMs(86_400_000) }));
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
