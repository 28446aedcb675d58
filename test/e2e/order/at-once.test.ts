import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { followed } from '../../support/order/courses.js';
import { type FollowHandle, type OrderStack, shows, trailOf, useOrderStack } from '../../support/order/stack.js';
import { attributeOf, eventsOf } from '../../support/runs.js';

const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' };

async function announce(stack: OrderStack, { handle, orderId }: Followed, status: string): Promise<void> {
  stack.sandbox.setStatus('business', orderId, status);
  await deliver(handle, deliveryOf(status));
  await expect.poll(() => attributeOf(handle, 'RideStatus')).toBe(status);
}

type Followed = { handle: FollowHandle; orderId: string };

/** The kinds of the events of a run after the first `length`. */
const kindsSince = async (handle: FollowHandle, length = 0): Promise<string[]> =>
  (await eventsOf(handle)).slice(length).map((event) => {
    const attributes = Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value);
    return attributes?.[0].replace('EventAttributes', '') ?? '';
  });

describe('within the share of the account', () => {
  const stack = useOrderStack({ env: slowPolls });

  it('an announced change takes six events, since its read is made within the task of the delivery', async () => {
    const order = await followed(stack);
    await sleep(500); // the workers of the account are counted
    await announce(stack, order, 'Confirmed');
    const { historyLength } = await order.handle.describe();
    await announce(stack, order, 'Driving');
    expect(await kindsSince(order.handle, historyLength)).toEqual([
      'workflowExecutionSignaled',
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskCompleted',
      'markerRecorded',
      'upsertWorkflowSearchAttributes',
    ]);
  });

  it('an order that has ended at the first read needs one task', async () => {
    await followed(stack); // the workers of the account are counted
    await sleep(500);
    const handle = await stack.follow('business', stack.newOrder('business', [['Completed', 0]]));
    expect(await handle.result()).toMatchObject({ outcome: 'completed', reads: 1 });
    expect((await kindsSince(handle)).filter((kind) => kind === 'workflowTaskCompleted')).toHaveLength(1);
  });

  it('a slow service does not hold the task of the run for longer than three seconds', async () => {
    const order = await followed(stack);
    await sleep(500);
    stack.sandbox.setFault({ kind: 'slow', delayMs: 8_000, orderId: order.orderId, times: 1 });
    stack.sandbox.setStatus('business', order.orderId, 'Driving');
    const sentAt = performance.now();
    await deliver(order.handle, deliveryOf('Driving'));
    const trails = await Promise.all([1, 2, 3].map(() => trailOf(order.handle))); // callers ask meanwhile
    expect(trails.map(({ orderId }) => orderId)).toEqual([order.orderId, order.orderId, order.orderId]);
    expect(performance.now() - sentAt).toBeLessThan(6_000);
    await shows(order.handle, { status: 'Driving' });
    expect(await kindsSince(order.handle)).toContain('activityTaskScheduled');
    expect(stack.sandbox.ledger({ orderId: order.orderId }).length).toBeGreaterThan(2); // it was asked again
  });
});

describe('beyond the share of the account', () => {
  const stack = useOrderStack({ env: slowPolls, requestsPerSecond: 2 });

  it('reads go through its queue, and every announced change is read', async () => {
    const order = await followed(stack);
    for (const status of ['Confirmed', 'Driving', 'Waiting']) await announce(stack, order, status);
    expect(await kindsSince(order.handle)).toContain('activityTaskScheduled');
    await announce(stack, order, 'Completed');
    const { timeline } = await order.handle.result();
    expect(timeline.map(({ status }) => status)).toEqual(['Routing', 'Confirmed', 'Driving', 'Waiting', 'Completed']);
  });
});
