import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { FollowOrderInput } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { refreshOrderUpdate } from '../../src/workflows/messages.js';
import type { followOrder } from '../../src/workflows/order/follow-order.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { type FollowHandle, type OrderStack, startOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';

// Polls are so slow here that whatever is seen was seen because of a message, or by the first look of a run.
const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' };

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: slowPolls });
});
afterAll(() => stack.close());

const trailOf = (handle: FollowHandle): Promise<OrderTrail> => handle.query('orderTrail');
const shows = (handle: FollowHandle, about: object) =>
  vi.waitFor(async () => expect(await trailOf(handle)).toMatchObject(about), patient);
const words = ({ timeline }: OrderTrail) => timeline.map(({ status, source }) => `${status} by ${source}`);
const delivery = (status: string, deliveryId: string = randomUUID()) => ({
  deliveries: [{ deliveryId, eventType: 'status_changed', receivedAt: new Date().toISOString(), status }],
});

/** Starts a run after one that has ended, which it goes on from. */
async function again(orderId: string, continues: string, more: Partial<FollowOrderInput> = {}): Promise<FollowHandle> {
  const key = { account: toAccountName('business'), orderId: toOrderId(orderId) };
  return await stack.client.workflow.start<typeof followOrder>('followOrder', {
    workflowId: followOrderId(key),
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, ...more }, { continues }],
  });
}

/** Follows an order that has gone from Routing to Confirmed. */
async function confirmed(more: Partial<FollowOrderInput> = {}) {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId, more);
  await shows(handle, { status: 'Routing' });
  stack.sandbox.setStatus('business', orderId, 'Confirmed');
  await handle.signal('deliveryReceived', delivery('Confirmed', 'first'));
  await shows(handle, { status: 'Confirmed' });
  return { orderId, handle, runId: handle.firstExecutionRunId };
}

const ends: Record<string, (handle: FollowHandle) => Promise<unknown>> = {
  stopped: (handle) => handle.executeUpdate('stopFollowing', { args: [{ reason: 'by mistake' }] }),
  expired: (handle) => handle.signal('followRequested', { followForMs: 1_000 }),
  terminated: (handle) => handle.terminate(),
  cancelled: (handle) => handle.cancel(),
};

describe.concurrent('an order that is followed again', () => {
  it.each(Object.keys(ends))('after its run was %s has one timeline, and all are told', async (kind) => {
    const [first, second] = [await startToldWorkflow(stack), await startToldWorkflow(stack)];
    const { orderId, handle, runId } = await confirmed({ reference: 'trip-9', notify: [first.receiver] });
    await ends[kind]?.(handle);
    await handle.result().catch(() => undefined);
    const next = await again(orderId, runId, { notify: [second.receiver], followForMs: 86_400_000 });
    await shows(next, { status: 'Confirmed', outcome: null, reference: 'trip-9', pushed: true });
    await next.signal('deliveryReceived', delivery('Confirmed', 'first'));
    await shows(next, { deliveries: { received: 2, duplicate: 1 } });
    expect((await next.describe()).searchAttributes).toMatchObject({ RideStatus: ['Confirmed'] });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await next.signal('deliveryReceived', delivery('Completed'));
    const trail = await next.result();
    expect(words(trail)).toEqual(['Routing by read', 'Confirmed by read', 'Completed by read']);
    expect(trail).toMatchObject({
      outcome: 'completed',
      reference: 'trip-9',
      deliveries: { received: 3, duplicate: 1 },
    });
    const rest = [
      ['Confirmed', null],
      ['Completed', 'completed'],
    ];
    expect(await second.course()).toEqual(rest);
    expect((await first.course()).slice(-2)).toEqual(rest);
    for (const { end } of [first, second]) await end();
  });

  it('has the claims that no reading had answered', async () => {
    const { orderId, handle, runId } = await confirmed();
    const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
    await handle.signal('deliveryReceived', delivery('Waiting'));
    await shows(handle, { attention: { code: 'forbidden' } });
    await handle.terminate();
    stack.sandbox.clearFault(fault);
    stack.sandbox.setStatus('business', orderId, 'Driving');
    const next = await again(orderId, runId);
    await shows(next, { status: 'Driving', attention: null, pushed: true });
    expect(words(await trailOf(next)).slice(1)).toEqual([
      'Confirmed by read',
      'Waiting by delivery',
      'Driving by read',
    ]);
    await next.terminate();
  });

  it('goes on through several runs, also those that continued as new', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    let handle = await stack.follow('business', orderId, { reference: 'r' }, { maxEvents: 15, maxSignals: 100 });
    await shows(handle, { status: 'Routing' });
    for (const status of ['Confirmed', 'Waiting', 'Driving']) {
      stack.sandbox.setStatus('business', orderId, status);
      await handle.signal('deliveryReceived', delivery(status));
      await shows(handle, { status });
      const { runId } = await handle.describe();
      await stack.client.workflow.getHandle(handle.workflowId).terminate();
      handle = await again(orderId, runId);
    }
    await shows(handle, { status: 'Driving', reference: 'r', deliveries: { received: 3, duplicate: 0 } });
    expect(words(await trailOf(handle))).toEqual(
      ['Routing', 'Confirmed', 'Waiting', 'Driving'].map((one) => `${one} by read`),
    );
    await handle.terminate();
  });

  it('stays ended when it had ended at the service', async () => {
    const { orderId, handle, runId } = await confirmed();
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.signal('deliveryReceived', delivery('Completed'));
    const trail = await handle.result();
    stack.sandbox.setStatus('business', orderId, 'Driving');
    const reads = stack.sandbox.ledger({ orderId }).length;
    expect(await (await again(orderId, runId)).result()).toEqual(trail);
    expect(stack.sandbox.ledger({ orderId })).toHaveLength(reads);
  });

  it('begins anew where the earlier run has nothing to say, and keeps what comes meanwhile', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const bad = await stack.follow('business', orderId, { poll: 5 } as never);
    await bad.result().catch(() => undefined);
    const next = await again(orderId, bad.firstExecutionRunId, { reference: 'right' });
    await next.signal('deliveryReceived', delivery('Routing'));
    await shows(next, { status: 'Routing', reference: 'right', deliveries: { received: 1 } });
    await next.terminate();
    const third = await again(orderId, randomUUID(), { reference: 'third' });
    expect(await third.executeUpdate('refreshOrder')).toMatchObject({
      status: 'Routing',
      reference: 'third',
      reads: 1,
    });
    await third.terminate();
  });

  it.each(['', 'x', 7, {}])('refuses %j as an earlier run', async (continues) => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const refused = (await again(orderId, continues as string)).result();
    await expect(refused).rejects.toMatchObject({
      cause: { type: 'InvalidInput', message: expect.stringContaining('continues') },
    });
  });
});

it('knows what came to a run that no worker served any more, and loses nothing that comes before it has been heard', async () => {
  const { receiver, course, end } = await startToldWorkflow(stack);
  const { orderId, handle, runId } = await confirmed();
  await stack.stopWorker();
  await handle.signal('deliveryReceived', delivery('Waiting', 'second'));
  await handle.signal('followRequested', { reference: 'trip-9' });
  await handle.terminate();
  stack.sandbox.setStatus('business', orderId, 'Driving');
  const next = await again(orderId, runId);
  await next.signal('deliveryReceived', delivery('Waiting', 'second'));
  await next.signal('deliveryReceived', delivery('Driving'));
  await next.signal('followRequested', { reference: 'another', notify: [receiver] });
  const refreshed = next.executeUpdate(refreshOrderUpdate);
  await stack.startWorker();
  const trail = await refreshed;
  const timeline = ['Routing by read', 'Confirmed by read', 'Waiting by delivery', 'Driving by read'];
  expect(words(trail)).toEqual(timeline);
  expect(trail).toMatchObject({ reference: 'another', deliveries: { received: 4, duplicate: 1 } });
  const told = [
    ['Confirmed', null],
    ['Driving', null],
  ];
  await vi.waitFor(async () => expect(await course()).toEqual(told), patient);
  await next.terminate();
  await end();
});
