import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import type { DeliveryNotice } from '../../src/domain/notices.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import { renewTokenSignal, tokenStatusQuery } from '../../src/workflows/access-token-messages.js';
import { deliveryReceivedSignal, orderTrailQuery } from '../../src/workflows/follow-order-messages.js';
import type { subscription } from '../../src/workflows/subscription.js';
import { rotateSubscriptionUpdate } from '../../src/workflows/subscription-messages.js';
import { isLong } from '../support/long.js';
import { runsOf } from '../support/run-chain.js';
import { webhookEnv } from '../support/subscriptions.js';
import { reading, startTimeSkippingStack, type TimeSkippingStack } from '../support/time-skipping-stack.js';

const hour = 3_600_000;
const day = 24 * hour;

/** The time-skipping server never hints that a run is long, so what is seen here is what we count ourselves. */
const size = isLong
  ? { tokenDays: 30, deliveries: 5_000, subscribedDays: 365, limits: {} }
  : { tokenDays: 2, deliveries: 300, subscribedDays: 20, limits: { maxEvents: 150 } };
const limits = { maxEvents: 4_000, maxSignals: 5_000, ...size.limits };
/** What the last task of a run may add before it continues as new. */
const slack = isLong ? 300 : 120;
/** Seconds, usually. An activity that gets lost on a busy machine stops the clock of the server for its own time. */
const timeout = isLong ? 1_800_000 : 240_000;

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack(webhookEnv());
});
afterAll(() => stack.close());

async function expectBounded(what: string, handle: WorkflowHandle): Promise<void> {
  const runs = await runsOf(stack.env.client, handle.workflowId);
  const events = runs.map(({ length }) => length);
  console.log(`${what}: ${runs.length} runs, ${events.join(', ')} events`);
  expect(Math.max(...events)).toBeLessThanOrEqual(limits.maxEvents + slack);
  if (isLong) expect(runs.length).toBeGreaterThan(1);
}

it(`a token that is used for ${size.tokenDays} days is renewed each hour, in runs that stay short`, {
  timeout,
}, async () => {
  const before = stack.tokenRequests.length;
  const handle = await stack.startLease(size.limits);
  const lease = stack.env.client.workflow.getHandle(handle.workflowId);
  let current: string | null = null;
  for (let elapsed = 0; elapsed < size.tokenDays * day; elapsed += hour) {
    // Two callers see that it is due, and say so at the same time.
    for (let caller = 0; caller < 2; caller += 1) await lease.signal(renewTokenSignal, { insteadOf: current });
    const replaced: string | null = current;
    const tokenNow = async () => (await lease.query(tokenStatusQuery)).token?.id ?? null;
    await expect.poll(tokenNow).not.toBe(replaced);
    current = await tokenNow();
    await stack.env.sleep(hour - 60_000);
  }
  expect(stack.tokenRequests.length - before).toBe(size.tokenDays * 24);
  await expectBounded(`tokens over ${size.tokenDays} days`, lease);
});

it(`${size.deliveries} deliveries to one order are all counted, in runs that stay short`, { timeout }, async () => {
  let isOver = false;
  const service = () => reading(isOver ? 'Completed' : 'Driving');
  const handle = await stack.start(service, { followForMs: 30 * day }, isLong ? undefined : limits);
  const order = stack.env.client.workflow.getHandle<() => Promise<unknown>>(handle.workflowId);
  const receivedAt = new Date().toISOString();
  const about = (i: number): DeliveryNotice => ({ deliveryId: `d-${i}`, eventType: 'status_changed', receivedAt });
  for (let from = 0; from < size.deliveries; from += 25) {
    const some = Array.from({ length: 25 }, (_, i) => about(from + i));
    await Promise.all(some.map((notice) => order.signal(deliveryReceivedSignal, { deliveries: [notice] })));
    await expect.poll(async () => (await order.query(orderTrailQuery)).deliveries.received).toBe(from + some.length);
  }
  isOver = true;
  await order.signal(deliveryReceivedSignal, { deliveries: [about(0)] });
  const received = size.deliveries + 1;
  expect(await order.result()).toMatchObject({ outcome: 'completed', deliveries: { received } });
  await expectBounded(`${size.deliveries} deliveries`, order);
});

it(`a subscription of ${size.subscribedDays} days that is rotated daily keeps few addresses and short runs`, {
  timeout,
}, async () => {
  const key = { account: toAccountName('business'), eventType: 'business_report' as const };
  const { client } = stack.env;
  const started = await client.workflow.start<typeof subscription>('subscription', {
    workflowId: subscriptionId(key),
    taskQueue: stack.taskQueue,
    args: [{ ...key, publicUrl: 'https://rides.example' }, isLong ? {} : { maxEvents: limits.maxEvents }],
  });
  const handle = client.workflow.getHandle<typeof subscription>(started.workflowId);
  for (let elapsed = 0; elapsed < size.subscribedDays; elapsed += 1) {
    await stack.env.sleep(day);
    const { state, generations } = await handle.executeUpdate(rotateSubscriptionUpdate, { args: [{}] });
    expect(state).toBe('active');
    // The one in force and the one of the day before, whose grace ends about now.
    expect(generations.length).toBeLessThanOrEqual(3);
  }
  await expectBounded(`a subscription over ${size.subscribedDays} days`, handle);
});
