import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { toAccountName, toOrderId, toScope } from '../../../src/domain/keys.js';
import type { FollowRequest } from '../../../src/domain/order/input.js';
import type { AccessTokenInput } from '../../../src/domain/token/input.js';
import type { RenewalCause } from '../../../src/domain/token/lease.js';
import { accessTokenId, followOrderId, fromFollowOrderId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import type { accessToken } from '../../../src/workflows/access-token.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { encrypted, raw, undecodable } from '../../support/hostile/payloads.js';
import type { FollowHandle, OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { callPaths } from './calls.js';
import { recordedDeliveryPaths } from './deliveries.js';
import { recordedNoticePaths } from './notices.js';
import { ridePaths } from './rides.js';
import { subscriptionPaths } from './subscriptions.js';

/** A run, to its end where it has one, and which run of it to keep. */
export interface RecordedRun {
  workflowId: string;
  runId?: string | undefined;
}

const ride: [string, number][] = [
  ['Pending', 0],
  ['Reserved', 500],
  ['Confirmed', 1_000],
  ['Driving', 1_500],
  ['Completed', 2_000],
];
const delivery = (status: string) => ({
  deliveries: [
    { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00.000Z', status },
  ],
});

/** Resolves once the handle shows another run than its first. */
const continued = (handle: { firstExecutionRunId: string; describe(): Promise<{ runId: string }> }) =>
  vi.waitFor(async () => expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId), patient);

const shows = (handle: Pick<FollowHandle, 'describe'>, attribute: string, value: string) =>
  vi.waitFor(async () => expect((await handle.describe()).searchAttributes[attribute]).toEqual([value]), patient);

/** Follows an order that stays `Driving`, until that was read. */
async function driving(
  stack: OrderStack,
  ...more: [Parameters<OrderStack['follow']>[2]?, Parameters<OrderStack['follow']>[3]?]
) {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await stack.follow('business', orderId, ...more);
  await shows(handle, 'RideStatus', 'Driving');
  return { handle, orderId };
}

interface Followed {
  handle: FollowHandle;
  orderId: string;
}

async function announce(stack: OrderStack, { handle, orderId }: Followed, status: string): Promise<void> {
  stack.sandbox.setStatus('business', orderId, status);
  await handle.signal('deliveryReceived', delivery(status));
  await shows(handle, 'RideStatus', status);
}

async function announced(stack: OrderStack, statuses: string[]): Promise<Followed> {
  const followed = await driving(stack);
  for (const status of statuses) await announce(stack, followed, status);
  return followed;
}

async function completed(
  stack: OrderStack,
  ...more: [Parameters<OrderStack['follow']>[2]?, Parameters<OrderStack['follow']>[3]?]
) {
  const handle = await stack.follow('partner', stack.newOrder('partner', ride), ...more);
  await handle.result();
  return handle;
}

/** An order that stays `Driving`, followed by a signal with start. */
async function requested({ client, config, newOrder }: OrderStack, input: FollowRequest, request: FollowRequest) {
  const key = { account: toAccountName('partner'), orderId: toOrderId(newOrder('partner', [['Driving', 0]])) };
  return await client.workflow.signalWithStart<typeof followOrder, [FollowRequest]>('followOrder', {
    workflowId: followOrderId(key),
    taskQueue: config.taskQueue,
    args: [{ ...key, ...input }],
    signal: 'followRequested',
    signalArgs: [request],
  });
}

/** Goes on from an earlier run. */
async function continuing({ client, config }: OrderStack, workflowId: string, continues: string) {
  const key = fromFollowOrderId(workflowId);
  if (!key) throw new Error(`not the id of an order: ${workflowId}`);
  return await client.workflow.start<typeof followOrder>('followOrder', {
    workflowId,
    taskQueue: config.taskQueue,
    args: [key, { continues }],
  });
}

async function ended(started: Promise<FollowHandle>): Promise<RecordedRun> {
  const handle = await started;
  await handle.result();
  return handle;
}

async function followedAgain(stack: OrderStack, end: (handle: FollowHandle) => Promise<unknown>): Promise<RecordedRun> {
  const { handle, orderId } = await driving(stack, { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] });
  await handle.signal('deliveryReceived', delivery('Driving'));
  await end(handle);
  await handle.result().catch(() => undefined);
  const next = continuing(stack, handle.workflowId, handle.firstExecutionRunId);
  await shows(await next, 'RideStatus', 'Driving');
  stack.sandbox.setStatus('business', orderId, 'Completed');
  return await ended(next);
}

const shortRuns = { maxEvents: 20, maxSignals: 100 };

const orderPaths: Record<string, (stack: OrderStack) => Promise<RecordedRun>> = {
  'order-completed': (stack) => completed(stack),
  async 'order-with-deliveries'(stack) {
    const { handle, orderId } = await driving(stack);
    await handle.signal('deliveryReceived', delivery('Driving'));
    stack.sandbox.setStatus('business', orderId, 'CareReq');
    await handle.signal('deliveryReceived', delivery('Waiting'));
    await shows(handle, 'RideStatus', 'CareReq');
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.result();
    return handle;
  },
  async 'order-announced-then-not'(stack) {
    const { handle, orderId } = await announced(stack, ['Confirmed', 'Waiting']);
    stack.sandbox.setStatus('business', orderId, 'Confirmed');
    await shows(handle, 'RideSeenBy', 'read');
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.result();
    return handle;
  },
  async 'order-with-an-overtaken-poll'(stack) {
    const { handle, orderId } = await announced(stack, ['Confirmed']);
    const reads = () => stack.sandbox.ledger({ orderId }).length;
    const before = reads();
    stack.sandbox.setFault({ kind: 'slow', delayMs: 2_000, orderId, times: 1 });
    stack.sandbox.setStatus('business', orderId, 'Waiting');
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(before), patient); // the poll, whose answer takes two seconds
    await announce(stack, { handle, orderId }, 'CareReq');
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(before + 2), patient); // and the one after it
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.result();
    return handle;
  },
  async 'order-refreshed-and-stopped'(stack) {
    const { handle } = await driving(stack);
    await handle.executeUpdate('refreshOrder');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'order-refreshed-during-a-read'(stack) {
    const { handle, orderId } = await driving(stack);
    stack.sandbox.setFault({ kind: 'slow', delayMs: 2_000, orderId, times: 2 }); // a poll, and the read of the delivery
    await handle.signal('deliveryReceived', delivery('Driving'));
    const pending = async () =>
      (await handle.describe()).raw.pendingActivities?.map(({ activityType }) => activityType?.name);
    await vi.waitFor(async () => expect(await pending()).toContain('readOrder'), patient);
    await handle.executeUpdate('refreshOrder');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'order-expired'(stack) {
    const { handle } = await driving(stack, { followForMs: 2_000 });
    await handle.result();
    return handle;
  },
  async 'order-moved-then-expired'(stack) {
    const scheduledAt = new Date(Date.now() + 1_000).toISOString();
    const moved = new Date(Date.now() + 3_000).toISOString();
    const orderId = randomUUID();
    const script = [{ status: 'Reserved', afterMs: 0 }];
    stack.sandbox.addOrder({ interface: 'business', orderId, script, scheduledAt: moved });
    const handle = await stack.follow('business', orderId, { scheduledAt, followForMs: 1_000 });
    await handle.result();
    return handle;
  },
  async 'order-with-attention'(stack) {
    const { handle, orderId } = await driving(stack);
    stack.sandbox.setFault({ kind: 'forbidden', orderId });
    await shows(handle, 'RideAttention', 'forbidden');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'order-asked-for-with-its-start'(stack) {
    const notify = [{ workflowId: 'nobody', signal: 'rideChanged' }];
    const handle = await requested(stack, { reference: 'r', notify }, { reference: 'r', notify });
    await shows(handle, 'RideStatus', 'Driving');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'order-asked-for-late'(stack) {
    const { handle } = await driving(stack);
    const notify = [{ workflowId: 'nobody', signal: 'rideChanged' }];
    await handle.signal('followRequested', { scheduledAt: '2031-05-01T10:00:00Z', notify });
    await handle.executeUpdate('refreshOrder');
    await handle.signal('followRequested', { followForMs: 1_000, reference: 7 as never });
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  'order-followed-again-after-stopped': (stack) =>
    followedAgain(stack, (handle) => handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] })),
  'order-followed-again-after-terminated': (stack) => followedAgain(stack, (handle) => handle.terminate()),
  async 'order-followed-again-after-its-end'(stack) {
    const { workflowId, firstExecutionRunId } = await completed(stack);
    return await ended(continuing(stack, workflowId, firstExecutionRunId));
  },
  async 'order-followed-again-after-nothing'(stack) {
    const { orderId, handle } = await driving(stack);
    await handle.terminate();
    stack.sandbox.setStatus('business', orderId, 'Completed');
    return await ended(continuing(stack, handle.workflowId, randomUUID()));
  },
  'order-that-tells-others': (stack) => completed(stack, { notify: [{ workflowId: 'nobody', signal: 'rideChanged' }] }),
  async 'order-continued-as-new'(stack) {
    const { workflowId, firstExecutionRunId } = await completed(stack, {}, shortRuns);
    return { workflowId, runId: firstExecutionRunId };
  },
  'order-after-continue-as-new': (stack) => completed(stack, {}, shortRuns),
  async 'order-with-too-many-signals'(stack) {
    const { handle } = await driving(stack, {}, { maxEvents: 1_000, maxSignals: 3 });
    for (let sent = 0; sent < 3; sent += 1) await handle.signal('deliveryReceived', delivery('Driving'));
    const { workflowId, firstExecutionRunId } = handle;
    await continued(handle);
    await handle.terminate();
    return { workflowId, runId: firstExecutionRunId };
  },
  async 'order-cancelled'(stack) {
    const { handle } = await driving(stack);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'order-with-undecodable-signals'(stack) {
    const { handle } = await driving(stack);
    await handle.signal('deliveryReceived', undecodable.NaN);
    await handle.signal('deliveryReceived', await encrypted(raw('{}')));
    await handle.signal('deliveryReceived', delivery('Driving'));
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'order-with-undecodable-input'(stack) {
    const { client, config } = stack;
    const start = { workflowId: `order/partner/${randomUUID()}`, taskQueue: config.taskQueue, args: [undecodable.NaN] };
    const handle = await client.workflow.start('followOrder', start);
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'order-with-bad-input'(stack) {
    const handle = await stack.follow('partner', randomUUID(), { poll: 5 } as never);
    await handle.result().catch(() => undefined);
    return handle;
  },
};

const tokenPaths: Record<string, (stack: OrderStack) => Promise<RecordedRun>> = {
  async 'token-renewed'(stack) {
    const lease = await openLease(stack);
    await lease.renew(null);
    const first = await lease.tokenOtherThan(undefined);
    await lease.renew(first);
    await lease.renew(first);
    await lease.tokenOtherThan(first);
    return lease.handle;
  },
  async 'token-refused'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'invalidClient' });
    const lease = await openLease(stack);
    await lease.renew(null);
    await lease.failure('credentialsRejected');
    stack.sandbox.clearFault(fault);
    return lease.handle;
  },
  async 'token-rejected-afresh'(stack) {
    const lease = await openLease(stack);
    let current: string | undefined;
    for (let renewals = 0; renewals < 2; renewals += 1) {
      await lease.renew(current ?? null);
      current = await lease.tokenOtherThan(current);
    }
    await lease.renew(current ?? null, 'rejectedAfresh');
    await lease.failure('credentialsRejected');
    return lease.handle;
  },
  async 'token-that-stands'(stack) {
    const lease = await openLease(stack);
    await lease.renew(null);
    const token = await lease.tokenOtherThan(undefined);
    const { publishedAt } = (await lease.published()) ?? {};
    await lease.renew(token, 'due');
    await vi.waitFor(async () => expect((await lease.published())?.publishedAt).not.toBe(publishedAt), patient);
    return lease.handle;
  },
  async 'token-with-bad-input'(stack) {
    const { handle } = await openLease(stack, { maxSignals: 0 });
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'token-continued-as-new'(stack) {
    const { handle, renew, tokenOtherThan } = await openLease(stack, { maxSignals: 2 });
    await renew(null);
    const first = await tokenOtherThan(undefined);
    await renew('another');
    await continued(handle);
    expect(await tokenOtherThan(undefined), 'readers find the token all the time').toBe(first);
    return { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
  },
};

type Paths = Record<string, (stack: OrderStack) => Promise<RecordedRun>>;

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
};

/** Those that take minutes: walked only to record them. */
export const slowPaths: Paths = {
  async 'order-unknown'(stack) {
    // Another order is read all the while: the path is right, and only this order is not there.
    const other = await stack.follow('partner', stack.newOrder('partner', [['Driving', 0]]));
    const handle = await stack.follow('partner', randomUUID());
    await handle.result().catch(() => undefined);
    await other.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return handle;
  },
  async 'token-idle'(stack) {
    const { handle, renew } = await openLease(stack);
    await renew(null);
    await handle.result();
    return handle;
  },
};

interface PublishedLease {
  token: { id: string } | null;
  failure: { code: string } | null;
  publishedAt: string | null;
}

/** A token lease that nothing else uses: its scope differs each time, and the business interface grants any order of them. */
async function openLease(stack: OrderStack, more: Partial<AccessTokenInput> = {}) {
  const business = stack.config.accounts.find(({ name }) => name === 'business');
  const { keyedHash } = createSealer(stack.config.sealingKeys);
  const credentialId = keyedHash(business?.clientId ?? '', business?.clientSecret ?? '');
  const key = { account: toAccountName('business'), scope: toScope('finance'), credentialId };
  // The id is that of nobody's lease, so that the account's own is left alone.
  const handle = await stack.client.workflow.start<typeof accessToken>('accessToken', {
    workflowId: `${accessTokenId(key)}-${randomUUID()}`,
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, ...more }],
  });
  const lease = async () => (await handle.describe()).memo?.lease as PublishedLease | undefined;
  return {
    handle,
    published: lease,
    renew: (insteadOf: string | null, cause: RenewalCause = 'rejected') =>
      handle.signal('renewToken', { insteadOf, cause, operation: 'readOrder' }),
    failure: (code: string) => vi.waitFor(async () => expect((await lease())?.failure?.code).toBe(code), patient),
    tokenOtherThan: (before: string | undefined): Promise<string> =>
      vi.waitFor(async () => {
        const id = (await lease())?.token?.id;
        if (id === undefined || id === before) throw new Error('no other token yet');
        return id;
      }, patient),
  };
}
