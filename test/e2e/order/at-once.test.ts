import { describe, expect, it } from 'vitest';
import { deliver, deliveryOf } from '../../support/delivery/deliveries.js';
import { followed, onceRested } from '../../support/order/courses.js';
import { type FollowHandle, type OrderStack, shows, trailOf, useOrderStack } from '../../support/order/stack.js';
import { attributeOf, eventsOf } from '../../support/runs.js';

const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' };

async function announce(stack: OrderStack, { handle, orderId }: Followed, status: string): Promise<void> {
  stack.sandbox.setStatus('business', orderId, status);
  await deliver(handle, deliveryOf(status));
  await expect.poll(() => attributeOf(handle, 'RideStatus')).toBe(status);
}

type Followed = { handle: FollowHandle; orderId: string };

const kindsOf = async (handle: FollowHandle): Promise<string[]> =>
  (await eventsOf(handle)).map((event) => {
    const attributes = Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value);
    return attributes?.[0].replace('EventAttributes', '') ?? '';
  });

describe('within the share of the account', () => {
  const stack = useOrderStack({ env: slowPolls });

  it('an order that has ended at the first read needs one task', async () => {
    await onceRested(async () => {
      const handle = await stack.follow('business', stack.newOrder('business', [['Completed', 0]]));
      expect(await handle.result()).toMatchObject({ outcome: 'completed', reads: 1 });
      expect((await kindsOf(handle)).filter((kind) => kind === 'workflowTaskCompleted')).toHaveLength(1);
    });
  });

  it('a slow service does not hold the task of the run for longer than three seconds', async () => {
    await onceRested(async () => {
      const { orderId, handle } = await followed(stack);
      stack.sandbox.setFault({ kind: 'slow', delayMs: 8_000, orderId, times: 1 });
      stack.sandbox.setStatus('business', orderId, 'Driving');
      const sentAt = performance.now();
      await deliver(handle, deliveryOf('Driving'));
      const trails = await Promise.all([1, 2, 3].map(() => trailOf(handle))); // callers ask meanwhile
      expect(trails.map((trail) => trail.orderId)).toEqual([orderId, orderId, orderId]);
      expect(performance.now() - sentAt).toBeLessThan(6_000);
      await shows(handle, { status: 'Driving' });
      expect(await kindsOf(handle)).toContain('activityTaskScheduled');
      expect(stack.sandbox.ledger({ orderId }).length).toBeGreaterThan(2); // it was asked again
    });
  });
});

describe('beyond the share of the account', () => {
  const stack = useOrderStack({ env: slowPolls, requestsPerSecond: 2 });

  it('reads go through its queue, and every announced change is read', async () => {
    const order = await followed(stack);
    for (const status of ['Confirmed', 'Driving', 'Waiting']) await announce(stack, order, status);
    expect(await kindsOf(order.handle)).toContain('activityTaskScheduled');
    await announce(stack, order, 'Completed');
    const { timeline } = await order.handle.result();
    expect(timeline.map(({ status }) => status)).toEqual(['Routing', 'Confirmed', 'Driving', 'Waiting', 'Completed']);
  });
});
