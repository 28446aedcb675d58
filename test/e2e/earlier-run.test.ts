import { describe, expect, it, vi } from 'vitest';
import { createFaretrailClient } from '../../src/client/index.js';
import type { FollowOrderInput } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { refreshOrderUpdate } from '../../src/workflows/messages.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { orderRunOf } from '../support/order/ends.js';
import { type FollowHandle, shows, slowPolls, useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { attributeOf } from '../support/runs.js';

// Whatever is seen here was seen because of a message, or by the first look of a run.
const stack = useOrderStack(slowPolls);

const words = ({ timeline }: OrderTrail) => timeline.map(({ status, source }) => `${status} by ${source}`);

/** Follows an order again, as a caller whose own process does all of it: no worker has to live. */
async function again(orderId: string, more: Partial<FollowOrderInput> = {}) {
  const order = { account: 'business', orderId };
  const faretrail = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
  await faretrail.follow({ ...order, ...more }, { again: true });
  return orderRunOf(stack, order);
}

/** Follows an order that a delivery has taken from Routing to Confirmed. */
async function confirmed(more: Partial<FollowOrderInput> = {}) {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = await stack.follow('business', orderId, more);
  await shows(handle, { status: 'Routing' });
  stack.sandbox.setStatus('business', orderId, 'Confirmed');
  const first = deliveryOf('Confirmed');
  await deliver(handle, first);
  await shows(handle, { status: 'Confirmed' });
  return { orderId, handle, first };
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
    const { orderId, handle, first } = await confirmed({ reference: 'trip-9', notify: [one.receiver] });
    await ends[kind]?.(handle);
    await handle.result().catch(() => undefined);
    const next = await again(orderId, { notify: [other.receiver], followForMs: 86_400_000 });
    await shows(next, { status: 'Confirmed', outcome: null, reference: 'trip-9', pushed: true });
    await deliver(next, first);
    await shows(next, { deliveries: { received: 2, duplicate: 1 } });
    await vi.waitFor(async () => expect(await attributeOf(next, 'RideStatus')).toBe('Confirmed'), patient);
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
});

it('a run knows what came to its former run while no worker served that, and loses nothing that comes before its own first task', async () => {
  const { receiver, course, end } = await startToldWorkflow(stack);
  const { orderId, handle } = await confirmed();
  await stack.stopWorker();
  const second = deliveryOf('Waiting');
  await deliver(handle, second);
  await handle.signal('followRequested', { reference: 'trip-9' });
  await handle.terminate();
  stack.sandbox.setStatus('business', orderId, 'Driving');
  const next = await again(orderId);
  await deliver(next, second, deliveryOf('Driving'));
  await next.signal('followRequested', { reference: 'another', notify: [receiver] });
  const refreshed = next.executeUpdate(refreshOrderUpdate);
  await stack.startWorker();
  const trail = await refreshed;
  expect(words(trail)).toEqual(['Routing by read', 'Confirmed by read', 'Waiting by delivery', 'Driving by read']);
  expect(trail).toMatchObject({ reference: 'trip-9', deliveries: { received: 4, duplicate: 1 } });
  await vi.waitFor(async () => expect((await course()).at(-1)).toEqual(['Driving', null]), patient);
  await next.terminate();
  await end();
});
