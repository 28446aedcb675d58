import { expect, it, type TestContext, vi } from 'vitest';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { type OrderStack, shows, startOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf, eventsOf, pendingOf } from '../../support/runs.js';
import { type SubscriptionRun, subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const watch = { eventType: 'status_changed', silence: { everyMs: 1_200, minOrders: 2 } } as const;

const settled = () => new Promise((resolve) => setTimeout(resolve, 1_300));

async function endsUnannounced(stack: OrderStack, count: number): Promise<void> {
  const ends = Array.from({ length: count }, async () => {
    const orderId = stack.newOrder('business', [
      ['Driving', 0],
      ['Completed', 500],
    ]);
    await (await stack.follow('business', orderId)).result();
  });
  await Promise.all(ends);
}

async function endsAnnounced(stack: OrderStack): Promise<void> {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await stack.follow('business', orderId);
  await vi.waitFor(async () => expect(await attributeOf(handle, 'RideStatus')).toBe('Driving'), patient);
  await deliver(handle, newDelivery()); // polls are slow from now on
  await shows(handle, { pushed: true });
  stack.sandbox.setStatus('business', orderId, 'Completed');
  await deliver(handle, newDelivery());
  await handle.result();
}

/** Orders of an account count for all of its subscriptions: each test has a fleet of its own. */
async function aStack({ onTestFinished }: TestContext): Promise<OrderStack> {
  const stack = await startOrderStack({ env: webhookEnv() });
  onTestFinished(() => stack.close());
  return stack;
}

const historyLength = async ({ handle }: SubscriptionRun) => (await handle.describe()).historyLength;

it.concurrent('the silence of a subscription is noticed when orders end and nothing announced it, costs no events, and clears when deliveries come', async (test) => {
  const stack = await aStack(test);
  const run = await subscribe(stack, watch);
  await run.active();
  await settled();
  const before = await historyLength(run);
  await endsUnannounced(stack, 1);
  await settled();
  await settled();
  expect(await historyLength(run), 'too few orders prove nothing, and looking adds no event').toBe(before);
  await endsUnannounced(stack, 1);
  await run.shows('subscriptionSilent');
  expect((await run.status()).attention?.message).toContain('2 orders');
  await endsAnnounced(stack);
  await run.shows(undefined);
  await run.handle.terminate();
});

it.concurrent('the silence of a subscription makes one new subscription when it is asked to', async (test) => {
  const stack = await aStack(test);
  const run = await subscribe(stack, { ...watch, resubscribe: true });
  const { generations } = await run.active();
  await settled();
  await endsUnannounced(stack, 2);
  const states = async () => (await run.status()).generations.map(({ state }) => state);
  await vi.waitFor(async () => expect(await states()).toEqual(['current', 'replaced']), patient);
  const now = await run.status();
  expect(now.generations[1]?.generation).toBe(generations[0]?.generation);
  expect(now.attention?.code, 'until deliveries come').toBe('subscriptionSilent');
  await settled();
  await endsUnannounced(stack, 2);
  await settled();
  expect((await run.status()).generations, 'once a day').toHaveLength(2);
  await run.handle.terminate();
});

it.concurrent('the silence of a subscription is watched again when an operator takes the attempts of a watch away', async (test) => {
  const { client, ...stack } = await aStack(test);
  const run = await subscribe({ ...stack, client }, { silence: { everyMs: 1_200 } });
  await run.active();
  await client.workflowService.updateActivityOptions({
    ...{ namespace: 'default', execution: { workflowId: run.handle.workflowId }, type: 'watchSilence' },
    activityOptions: { retryPolicy: { maximumAttempts: 1 } },
    updateMask: { paths: ['retry_policy.maximum_attempts'] },
  });
  await vi.waitFor(async () => {
    const hasEnded = (await eventsOf(run.handle)).some((event) => event.activityTaskFailedEventAttributes);
    const pending = (await pendingOf(run.handle)).map(({ name }) => name);
    expect({ hasEnded, pending }).toEqual({ hasEnded: true, pending: ['watchSilence'] });
  }, patient);
  await run.handle.terminate();
});
