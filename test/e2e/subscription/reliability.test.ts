import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { SubscriptionInput } from '../../../src/domain/subscription/input.js';
import type { SubscriptionStatus } from '../../../src/domain/subscription/status.js';
import { followOrderId, subscriptionId } from '../../../src/domain/workflow-ids.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { type FollowHandle, type OrderStack, shows, startFollowing, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf } from '../../support/runs.js';
import { webhookEnv } from '../../support/subscription/subscriptions.js';

const account = toAccountName(`proven-${randomUUID().slice(0, 8)}`);
const key = { account, eventType: 'status_changed' as const };
const usualMs = 400;
const provenMs = 8_000;

const stack = useOrderStack({
  businessAs: account,
  env: {
    ...webhookEnv(),
    FARETRAIL_POLL_PUSHED_MS: String(usualMs),
    FARETRAIL_POLL_PROVEN_MS: String(provenMs),
  },
});

/** The run of the subscription under its id of production, where the workers look for it. */
async function startSubscription({ client, config }: OrderStack) {
  const silence = { everyMs: 1_500 };
  const input: SubscriptionInput = {
    ...key,
    publicUrl: 'http://127.0.0.1:9',
    silence,
    reliability: { endsPerStep: 1 },
  };
  const handle = await client.workflow.start('subscription', {
    workflowId: subscriptionId(key),
    taskQueue: config.taskQueue,
    args: [input],
  });
  onTestFinished(async () => {
    await handle.terminate().catch(() => undefined); // it ended within the test, unless that failed
  });
  const reliability = async () => (await handle.query<SubscriptionStatus, []>('subscriptionStatus')).reliability;
  return { handle, reliability };
}

/** An order under way of which a delivery has come. */
async function announced({ sandbox }: OrderStack): Promise<{ orderId: string; handle: FollowHandle }> {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await startFollowing(stack, { account, orderId });
  await shows(handle, { status: 'Driving' });
  await deliver(handle, newDelivery());
  await shows(handle, { pushed: true });
  await expect.poll(() => sandbox.ledger({ orderId }).length).toBeGreaterThan(1);
  return { orderId, handle };
}

const readsOf = (orderId: string): number[] => stack.sandbox.ledger({ orderId }).map(({ at }) => Date.parse(at));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it('polls become rarer once deliveries are proven; one lost delivery costs one longest pause, and ends it for the whole account', async () => {
  const subscription = await startSubscription(stack);
  await pause(4_000); // what ends before the run records misses, or right after the address was registered, proves nothing
  for (let ends = 0; ends < 4; ends += 1) {
    const { orderId, handle } = await announced(stack);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await deliver(handle, newDelivery());
    await handle.result();
  }
  await vi.waitFor(
    async () => expect(await subscription.reliability()).toMatchObject({ step: 4, missed: null }),
    patient,
  );
  await pause(usualMs); // the worker reads it again

  const [lost, other] = [await announced(stack), await announced(stack)];
  await pause(2 * usualMs); // a poll that had begun to wait before
  const before = readsOf(other.orderId).length;
  await pause(5 * usualMs);
  expect(readsOf(other.orderId).length - before, 'reads in the time of five usual pauses').toBeLessThanOrEqual(1);

  stack.sandbox.setStatus('business', lost.orderId, 'Completed');
  const lostAt = Date.now();
  expect(await lost.handle.result()).toMatchObject({ outcome: 'completed' });
  expect(Date.now() - lostAt).toBeLessThan(provenMs + 5_000); // and what a busy machine adds
  expect(await attributeOf(lost.handle, 'RideSeenBy')).toBe('read');
  const missed = { orderId: lost.orderId };
  await vi.waitFor(async () => expect(await subscription.reliability()).toMatchObject({ step: 0, missed }), patient);

  const missedAt = Date.now();
  const { historyLength } = await other.handle.describe();
  // Its poll may wait for the rest of one longest pause.
  await vi.waitFor(
    () => expect(readsOf(other.orderId).filter((at) => at > missedAt).length).toBeGreaterThan(4),
    patient,
  );
  const [second = 0, ...later] = readsOf(other.orderId)
    .filter((at) => at > missedAt)
    .slice(1);
  expect(Math.max(...later) - second, 'three usual pauses').toBeLessThan(provenMs / 2);
  expect((await other.handle.describe()).historyLength, 'none of this is an event of the order').toBe(historyLength);
  await subscription.handle.executeUpdate('endSubscription', { args: [{ reason: 'tested' }] });
  await stack.client.workflow.getHandle(followOrderId({ account, orderId: toOrderId(other.orderId) })).terminate();
});
