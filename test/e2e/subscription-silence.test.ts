import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OrderStack, startOrderStack } from '../support/order-stack.js';
import { type SubscriptionRun, subscribe, webhookEnv } from '../support/subscriptions.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: webhookEnv() });
});
afterAll(() => stack.close());

const watch = { eventType: 'status_changed', silence: { everyMs: 2_000, minOrders: 2 } } as const;

const settled = () => new Promise((resolve) => setTimeout(resolve, 2_100));

async function endsUnannounced(count: number): Promise<void> {
  const ends = Array.from({ length: count }, async () => {
    const orderId = stack.newOrder('business', [
      ['Driving', 0],
      ['Completed', 500],
    ]);
    await (await stack.follow('business', orderId)).result();
  });
  await Promise.all(ends);
}

async function endsAnnounced(): Promise<void> {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await stack.follow('business', orderId);
  await expect.poll(async () => (await handle.describe()).searchAttributes.RideStatus?.[0]).toBe('Driving');
  await handle.signal('deliveryReceived', { deliveries: [notice()] }); // polls are slow from now on
  await expect.poll(() => handle.query<{ pushed: boolean }, []>('orderTrail')).toMatchObject({ pushed: true });
  stack.sandbox.setStatus('business', orderId, 'Completed');
  await handle.signal('deliveryReceived', { deliveries: [notice()] });
  await handle.result();
}

const notice = () => ({ deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: new Date().toISOString() });

const historyLength = async ({ handle }: SubscriptionRun) => (await handle.describe()).historyLength;

it('is noticed when orders end and nothing announced it, costs no events, and clears when deliveries come', async () => {
  const run = await subscribe(stack, watch);
  await run.active();
  await settled();
  const before = await historyLength(run);
  await endsUnannounced(1);
  await settled();
  await settled();
  expect(await historyLength(run), 'too few orders prove nothing, and looking adds no event').toBe(before);
  await endsUnannounced(1);
  await run.shows('subscriptionSilent');
  expect((await run.status()).attention?.message).toContain('2 orders');
  await endsAnnounced();
  await run.shows(undefined);
  await run.handle.terminate();
});

it('makes one new subscription when it is asked to', async () => {
  const run = await subscribe(stack, { ...watch, resubscribe: true });
  const { generations } = await run.active();
  await settled();
  await endsUnannounced(2);
  await expect
    .poll(async () => (await run.status()).generations.map(({ state }) => state))
    .toEqual(['current', 'replaced']);
  const now = await run.status();
  expect(now.generations[1]?.generation).toBe(generations[0]?.generation);
  expect(now.attention?.code, 'until deliveries come').toBe('subscriptionSilent');
  await settled();
  await endsUnannounced(2);
  await settled();
  expect((await run.status()).generations, 'once a day').toHaveLength(2);
  await run.handle.terminate();
});
