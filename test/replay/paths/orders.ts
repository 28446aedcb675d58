import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { FollowRequest } from '../../../src/domain/order/input.js';
import { nextReadingId } from '../../../src/domain/watch.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { changeSeenSignal } from '../../../src/workflows/messages.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { startCall } from '../../support/call/calls.js';
import { deliver, deliveryOf, newDelivery } from '../../support/delivery/deliveries.js';
import { undecodable } from '../../support/hostile/payloads.js';
import { followAgain } from '../../support/order/ends.js';
import type { FollowHandle, OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf, continued, isPending } from '../../support/runs.js';
import { recordedDeliveryPaths } from './deliveries.js';
import { recordedNoticePaths } from './notices.js';
import { cancelled, completed, ended, firstRunOf, type Path, type Paths, type RecordedRun } from './path.js';
import { ridePaths } from './rides.js';
import { recordedStorePaths } from './store.js';
import { subscriptionPaths } from './subscriptions.js';
import { idleLease, refusalForgotten, tokenPaths } from './tokens.js';
import { slowTroublePaths, troublePaths } from './troubles/index.js';
import { watchPaths } from './watches.js';

type Follow = Parameters<OrderStack['follow']>;
type More = [more?: Follow[2], limits?: Follow[3]];

const course = ['Pending', 'Reserved', 'Confirmed', 'Driving', 'Completed'].map((status, step): [string, number] => [
  status,
  step * 1_000,
]);
const notify = [{ workflowId: 'nobody', signal: 'rideChanged' }];

const shows = (handle: Pick<FollowHandle, 'describe'>, attribute: string, value: string) =>
  vi.waitFor(async () => expect(await attributeOf(handle, attribute)).toBe(value), patient);

/** Follows an order that stays `Driving`, until that was read. */
async function driving(stack: OrderStack, ...more: More) {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await stack.follow('business', orderId, ...more);
  await shows(handle, 'RideStatus', 'Driving');
  return { handle, orderId };
}

type Followed = Awaited<ReturnType<typeof driving>>;

async function stopped(handle: FollowHandle): Promise<FollowHandle> {
  await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
  return handle;
}

function completes(stack: OrderStack, { handle, orderId }: Followed): Promise<FollowHandle> {
  stack.sandbox.setStatus('business', orderId, 'Completed');
  return completed(handle);
}

/** A path of an order that is `Driving` when it begins. */
const whileDriving =
  (go: (handle: FollowHandle, stack: OrderStack, orderId: string) => Promise<RecordedRun>, ...more: More): Path =>
  async (stack) => {
    const { handle, orderId } = await driving(stack, ...more);
    return await go(handle, stack, orderId);
  };

const orderPaths: Paths = {
  'order-completed': (stack) => completed(stack.follow('partner', stack.newOrder('partner', course))),
  'order-with-deliveries': whileDriving(async (handle, stack, orderId) => {
    await deliver(handle, deliveryOf('Driving'));
    stack.sandbox.setStatus('business', orderId, 'CareReq');
    await deliver(handle, deliveryOf('Waiting'));
    await shows(handle, 'RideStatus', 'CareReq');
    return await completes(stack, { handle, orderId });
  }),
  'order-with-many-deliveries': whileDriving(async (handle, stack, orderId) => {
    for (let sent = 0; sent < 10; sent += 1) {
      await deliver(handle, newDelivery());
      await sleep(500);
    }
    return await completes(stack, { handle, orderId });
  }),
  'order-in-trouble-that-the-watch-found': whileDriving(async (handle, stack, orderId) => {
    stack.sandbox.setFault({ kind: 'forbidden', orderId, times: 2 });
    const [since, notBefore] = [-600_000, -1].map((ms) => new Date(Date.now() + ms).toISOString());
    const streak = { code: 'forbidden', message: 'forbidden', since, failures: 9, notBefore } as const;
    await handle.signal(changeSeenSignal, { streak, unchangedAt: since as string } as never);
    await shows(handle, 'RideAttention', 'forbidden');
    return await stopped(handle);
  }),
  'order-refreshed-during-a-read': whileDriving(async (handle, stack, orderId) => {
    stack.sandbox.setFault({ kind: 'slow', delayMs: 4_000, orderId, times: 2 }); // a poll and the read
    await deliver(handle, deliveryOf('Driving'));
    await isPending(handle, 'readOrder');
    await handle.executeUpdate('refreshOrder');
    return await stopped(handle);
  }),
  'order-moved-then-expired'(stack) {
    const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
    const orderId = randomUUID();
    const script = [{ status: 'Reserved', afterMs: 0 }];
    stack.sandbox.addOrder({ interface: 'business', orderId, script, scheduledAt: inMs(3_000) });
    return completed(stack.follow('business', orderId, { scheduledAt: inMs(1_000), followForMs: 1_000 }));
  },
  'order-with-attention-about-the-ride': whileDriving(
    async (handle, stack, orderId) => {
      stack.sandbox.setStatus('business', orderId, 'Unreserved');
      await shows(handle, 'RideAttention', 'stuckInStatus');
      const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
      await deliver(handle, deliveryOf('Unreserved'));
      await shows(handle, 'RideAttention', 'forbidden');
      stack.sandbox.clearFault(fault);
      stack.sandbox.setStatus('business', orderId, 'CareReq');
      await handle.executeUpdate('refreshOrder');
      await shows(handle, 'RideAttention', 'customerCare');
      stack.sandbox.setStatus('business', orderId, 'Completed');
      await deliver(handle, deliveryOf('Completed')); // the watch still waits after its trouble
      return await completed(handle);
    },
    { notify },
  ),
  async 'order-asked-for-with-its-start'({ client, config, newOrder }) {
    const key = { account: toAccountName('partner'), orderId: toOrderId(newOrder('partner', [['Driving', 0]])) };
    const request = { reference: 'r', notify };
    const handle = await client.workflow.signalWithStart<typeof followOrder, [FollowRequest]>('followOrder', {
      workflowId: followOrderId(key),
      taskQueue: config.taskQueue,
      args: [{ ...key, ...request }],
      signal: 'followRequested',
      signalArgs: [request],
    });
    await shows(handle, 'RideStatus', 'Driving');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  'order-asked-for-late': whileDriving(async (handle) => {
    await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z', notify });
    await handle.executeUpdate('refreshOrder');
    await handle.signal('followRequested', { followForMs: 1_000, reference: 7 as never });
    return await stopped(handle);
  }),
  'order-of-which-polls-find-each-change': (stack) =>
    completed(stack.follow('partner', stack.newOrder('partner', course), { notify })),
  'order-whose-polls-and-reads-cross': whileDriving(async (handle, stack, orderId) => {
    await isPending(handle, 'nextReading');
    stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, orderId, times: 1 }); // a poll
    stack.sandbox.setStatus('business', orderId, 'Waiting');
    await sleep(500);
    stack.sandbox.setStatus('business', orderId, 'CareReq');
    await handle.executeUpdate('refreshOrder');
    await sleep(2_000);
    return await completes(stack, { handle, orderId });
  }),
  'order-whose-pending-read-an-operator-completes': whileDriving(async (handle, stack, orderId) => {
    const complete = async (result: unknown): Promise<void> => {
      await isPending(handle, 'nextReading');
      await stack.client.activity.complete({ workflowId: handle.workflowId, activityId: nextReadingId }, result);
    };
    await complete('nothing that a run could read');
    const attention = { code: 'forbidden', message: 'forbidden', since: '2026-11-30T08:00:00.000Z' };
    const trouble = { kind: 'trouble', attention, notBefore: attention.since, reads: 0 };
    await sleep(1_000);
    await complete({ ...trouble, comparedWith: 'Pending' });
    await sleep(1_000);
    await complete({ ...trouble, comparedWith: 'Driving' });
    await sleep(3_000); // a poll ends the trouble
    return await completes(stack, { handle, orderId });
  }),
  async 'order-that-a-caller-moves'(stack) {
    const orderId = randomUUID();
    const script = [{ status: 'Driving', afterMs: 0 }];
    stack.sandbox.addOrder({ interface: 'business', orderId, script, details: { scheduled_at: null } });
    const handle = await stack.follow('business', orderId);
    await isPending(handle, 'nextReading');
    await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z' });
    await sleep(1_000);
    return await stopped(handle);
  },
  async 'order-followed-again-after-stopped'(stack) {
    const { handle, orderId } = await driving(stack, { notify });
    await deliver(handle, deliveryOf('Driving'));
    await ended(await stopped(handle));
    const next = await followAgain(stack, handle.workflowId);
    await shows(next, 'RideStatus', 'Driving');
    return await completes(stack, { handle: next, orderId });
  },
  'order-with-too-many-signals': whileDriving(
    async (handle) => {
      for (let sent = 0; sent < 3; sent += 1) await deliver(handle, deliveryOf('Driving'));
      await continued(handle);
      await handle.terminate();
      return firstRunOf(handle);
    },
    {},
    { maxEvents: 1_000, maxSignals: 3 },
  ),
  'order-cancelled': whileDriving(cancelled<FollowHandle>),
  'order-with-undecodable-signals': whileDriving(async (handle) => {
    await handle.signal('deliveryReceived', undecodable.NaN);
    await deliver(handle, deliveryOf('Driving'));
    return await stopped(handle);
  }),
  'order-with-undecodable-input'({ client, config: { taskQueue } }) {
    const start = { workflowId: `order/partner/${randomUUID()}`, taskQueue, args: [undecodable.NaN] };
    return ended(client.workflow.start('followOrder', start));
  },
  'order-with-bad-input': (stack) => ended(stack.follow('partner', randomUUID(), { poll: 5 } as never)),
};

/** Every way through `businessCall`. */
const callPaths: Paths = {
  'call-done': (stack) => completed(startCall(stack, 'createOrder', { body: newRide() })),
  'call-refused': (stack) => ended(startCall(stack, 'createOrder', { body: newRide({ product_id: randomUUID() }) })),
  'call-with-bad-input': (stack) => ended(startCall(stack, 'cancelOrder')),
  'call-cancelled': cancelledCall,
  // The same with today's timer between the cancellation of the call and the end.
  'call-cancelled-in-another-task': cancelledCall,
};

/**
 * Every way through the workflows, by name: each has a recorded history that must replay for ever (I8). Those of one
 * group are walked one after the other, since they set faults for a whole stack; groups side by side.
 */
export const recordedPaths: Record<string, Paths> = {
  orders: orderPaths,
  tokens: tokenPaths,
  calls: callPaths,
  deliveries: recordedDeliveryPaths,
  notices: recordedNoticePaths,
  rides: ridePaths,
  subscriptions: subscriptionPaths,
  store: recordedStorePaths,
  watches: watchPaths,
  troubles: troublePaths,
};

/** Those that take minutes: walked only to record them. */
export const slowPaths: Paths = {
  async 'order-unknown'(stack) {
    // Another order is read all the while: the path is right, and only this order is not there.
    const other = await stack.follow('partner', stack.newOrder('partner', [['Driving', 0]]));
    const handle = await ended(stack.follow('partner', randomUUID()));
    await other.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  'token-idle': idleLease,
  'token-rejected-again': refusalForgotten,
  ...slowTroublePaths,
};

async function cancelledCall(stack: OrderStack) {
  const fault = stack.sandbox.setFault({ kind: 'slow', operation: 'orderDetails', delayMs: 5_000 });
  const call = await cancelled(startCall(stack, 'orderDetails', { orderId: toOrderId('4711') }));
  stack.sandbox.clearFault(fault);
  return call;
}
