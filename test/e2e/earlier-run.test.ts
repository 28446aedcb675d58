import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { FollowOrderInput } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { refreshOrderUpdate } from '../../src/workflows/messages.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { slowPolls } from '../support/order/courses.js';
import { type FollowHandle, shows, startFollowing, trailOf, useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { refusesInput } from '../support/runs.js';

// Whatever is seen here was seen because of a message, or by the first look of a run.
const stack = useOrderStack(slowPolls);

const words = ({ timeline }: OrderTrail) => timeline.map(({ status, source }) => `${status} by ${source}`);

/** Starts a run that goes on from one that has ended. */
const again = (orderId: string, continues: string, more: Partial<FollowOrderInput> = {}): Promise<FollowHandle> =>
  startFollowing(stack, { ...more, account: 'business', orderId }, { continues });

/** Follows an order that a delivery has taken from Routing to Confirmed. */
async function confirmed(more: Partial<FollowOrderInput> = {}) {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId, more);
  await shows(handle, { status: 'Routing' });
  stack.sandbox.setStatus('business', orderId, 'Confirmed');
  const first = deliveryOf('Confirmed');
  await deliver(handle, first);
  await shows(handle, { status: 'Confirmed' });
  return { orderId, handle, runId: handle.firstExecutionRunId, first };
}

const ends: Record<string, (handle: FollowHandle) => Promise<unknown>> = {
  stopped: (handle) => handle.executeUpdate('stopFollowing', { args: [{ reason: 'by mistake' }] }),
  expired: (handle) => handle.signal('followRequested', { followForMs: 1_000 }),
  terminated: (handle) => handle.terminate(),
  cancelled: (handle) => handle.cancel(),
};

describe.concurrent('an order that is followed again', () => {
  it.each(Object.keys(ends))('after its run was %s has one timeline, and all are told', async (kind) => {
    const [one, other] = [await startToldWorkflow(stack), await startToldWorkflow(stack)];
    const { orderId, handle, runId, first } = await confirmed({ reference: 'trip-9', notify: [one.receiver] });
    await ends[kind]?.(handle);
    await handle.result().catch(() => undefined);
    const next = await again(orderId, runId, { notify: [other.receiver], followForMs: 86_400_000 });
    await shows(next, { status: 'Confirmed', outcome: null, reference: 'trip-9', pushed: true });
    await deliver(next, first);
    await shows(next, { deliveries: { received: 2, duplicate: 1 } });
    expect((await next.describe()).searchAttributes).toMatchObject({ RideStatus: ['Confirmed'] });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await deliver(next, deliveryOf('Completed'));
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
    expect(await other.course()).toEqual(rest);
    expect((await one.course()).slice(-2)).toEqual(rest);
    for (const { end } of [one, other]) await end();
  });

  it('has the claims that no reading had answered', async () => {
    const { orderId, handle, runId } = await confirmed();
    const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
    await deliver(handle, deliveryOf('Waiting'));
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
      await deliver(handle, deliveryOf(status));
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
    await deliver(handle, deliveryOf('Completed'));
    const trail = await handle.result();
    stack.sandbox.setStatus('business', orderId, 'Driving');
    const reads = stack.sandbox.ledger({ orderId }).length;
    expect(await (await again(orderId, runId)).result()).toEqual(trail);
    expect(stack.sandbox.ledger({ orderId })).toHaveLength(reads);
  });

  it('starts afresh where the earlier run left no trail, and keeps what comes meanwhile', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const bad = await stack.follow('business', orderId, { poll: 5 } as never);
    await bad.result().catch(() => undefined);
    const next = await again(orderId, bad.firstExecutionRunId, { reference: 'right' });
    await deliver(next, deliveryOf('Routing'));
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

  it('is refused where no run id names the earlier run', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    await refusesInput((await again(orderId, 'x')).result(), 'continues');
  });
});

it('a run knows what came to its earlier run while no worker served that, and loses nothing that comes before its own first task', async () => {
  const { receiver, course, end } = await startToldWorkflow(stack);
  const { orderId, handle, runId } = await confirmed();
  await stack.stopWorker();
  const second = deliveryOf('Waiting');
  await deliver(handle, second);
  await handle.signal('followRequested', { reference: 'trip-9' });
  await handle.terminate();
  stack.sandbox.setStatus('business', orderId, 'Driving');
  const next = await again(orderId, runId);
  await deliver(next, second, deliveryOf('Driving'));
  await next.signal('followRequested', { reference: 'another', notify: [receiver] });
  const refreshed = next.executeUpdate(refreshOrderUpdate);
  await stack.startWorker();
  const trail = await refreshed;
  const timeline = ['Routing by read', 'Confirmed by read', 'Waiting by delivery', 'Driving by read'];
  expect(words(trail)).toEqual(timeline);
  expect(trail).toMatchObject({ reference: 'another', deliveries: { received: 4, duplicate: 1 } });
  // Its earlier run may have read the order once more, to answer what it left.
  await vi.waitFor(async () => expect((await course()).at(-1)).toEqual(['Driving', null]), patient);
  await next.terminate();
  await end();
});
