import { randomUUID } from 'node:crypto';
import { expect, it, type TestContext, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { type FollowHandle, type OrderStack, startFollowing, startOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf, eventsOf, isWatched, pendingOf } from '../../support/runs.js';
import { subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const watch = { eventType: 'status_changed', silence: { everyMs: 3_000, minOrders: 2 } } as const;

const settled = () => new Promise((resolve) => setTimeout(resolve, 3_200));

type Fleet = OrderStack & { account: string };

const follow = (stack: Fleet): Promise<FollowHandle> =>
  startFollowing(stack, { account: stack.account, orderId: stack.newOrder('business', [['Driving', 0]]) });

const orderIdOf = ({ workflowId }: FollowHandle): string => workflowId.split('/').at(-1) ?? '';

async function endsUnannounced(stack: Fleet, count: number): Promise<void> {
  const ends = Array.from({ length: count }, async () => {
    const handle = await follow(stack);
    await vi.waitFor(async () => expect(await isWatched(handle)).toBe(true), patient);
    stack.sandbox.setStatus('business', orderIdOf(handle), 'Completed');
    await handle.result();
  });
  await Promise.all(ends);
}

async function endsAnnounced(stack: Fleet): Promise<void> {
  const handle = await follow(stack);
  await vi.waitFor(async () => expect(await attributeOf(handle, 'RideStatus')).toBe('Driving'), patient);
  stack.sandbox.setStatus('business', orderIdOf(handle), 'Completed');
  await deliver(handle, newDelivery());
  await handle.result();
}

/** Orders of an account count for all of its subscriptions: each test has a fleet of its own. */
async function aStack({ onTestFinished }: TestContext): Promise<Fleet> {
  const account = `silence-${randomUUID().slice(0, 8)}`;
  const stack = await startOrderStack({ businessAs: account, env: webhookEnv(), watchPace: { counts: 300 } });
  onTestFinished(() => stack.close());
  return { ...stack, account };
}

/** Under the id of production, which the watch of the account tells what it counts. */
const subscribeAt = (stack: Fleet, more: Parameters<typeof subscribe>[1]) =>
  subscribe(stack, { account: toAccountName(stack.account), ...more }, undefined, '');

it.concurrent('the silence of a subscription is noticed when orders end and nothing announced it, makes one new subscription a day where it is asked to, and clears when deliveries come', async (test) => {
  const stack = await aStack(test);
  const run = await subscribeAt(stack, { ...watch, resubscribe: true });
  const { generations } = await run.active();
  await settled();
  await endsUnannounced(stack, 1);
  await settled();
  await settled();
  expect((await run.status()).attention, 'too few orders prove nothing').toBeNull();
  await endsUnannounced(stack, 1);
  await run.shows('subscriptionSilent');
  expect((await run.status()).attention?.message).toContain('2 orders');
  const states = async () => (await run.status()).generations.map(({ state }) => state);
  await vi.waitFor(async () => expect(await states()).toEqual(['current', 'replaced']), patient);
  const now = await run.status();
  expect(now.generations[1]?.generation).toBe(generations[0]?.generation);
  expect(now.attention?.code, 'until deliveries come').toBe('subscriptionSilent');
  await settled();
  await endsUnannounced(stack, 2);
  await settled();
  expect((await run.status()).generations, 'once a day').toHaveLength(2);
  await vi.waitFor(async () => {
    await endsAnnounced(stack); // a poll between the end and its delivery comes first now and then
    await settled();
    expect((await run.status()).attention).toBeNull();
  }, patient);
  await run.shows(undefined);
  await run.handle.terminate();
});

it.concurrent('a subscription watches again whether it was reset when an operator takes the attempts of that watch away', async (test) => {
  const { client, ...stack } = await aStack(test);
  const run = await subscribeAt({ ...stack, client }, { silence: { everyMs: 1_200 } });
  await run.active();
  await client.workflowService.updateActivityOptions({
    ...{ namespace: 'default', execution: { workflowId: run.handle.workflowId }, type: 'watchResets' },
    activityOptions: { retryPolicy: { maximumAttempts: 1 } },
    updateMask: { paths: ['retry_policy.maximum_attempts'] },
  });
  await vi.waitFor(async () => {
    const hasEnded = (await eventsOf(run.handle)).some((event) => event.activityTaskFailedEventAttributes);
    const pending = (await pendingOf(run.handle)).map(({ name }) => name);
    expect({ hasEnded, pending }).toEqual({ hasEnded: true, pending: ['watchResets'] });
  }, patient);
  await run.handle.terminate();
});
