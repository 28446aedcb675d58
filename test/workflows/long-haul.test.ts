import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import { accessTokenId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { orderTrailQuery, rotateSubscriptionUpdate } from '../../src/workflows/messages.js';
import type { subscription } from '../../src/workflows/subscription/subscription.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { every, reading, startTimeSkippingStack, type TimeSkippingStack } from '../support/order/time-skipping.js';
import { runsOf } from '../support/runs.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The time-skipping server never hints that a run is long, so what is seen here is what we count ourselves. */
const size = { tokenDays: 30, deliveries: 5_000, subscribedDays: 365 };
/** 500 events, and what the last task of a run may add before it continues as new. */
const longestRun = 600;

let stack: TimeSkippingStack;

async function expectBounded(what: string, workflowId: string): Promise<void> {
  const runs = await runsOf(stack.env.client, workflowId);
  const events = runs.map(({ length }) => length);
  console.log(`${what}: ${runs.length} runs, ${events.join(', ')} events`);
  expect(Math.max(...events)).toBeLessThanOrEqual(longestRun);
  expect(runs.length).toBeGreaterThan(1);
}

// Minutes each.
describe.skipIf(!isLong)('in runs that stay short,', { timeout: 1_800_000 }, () => {
  beforeAll(async () => {
    stack = await startTimeSkippingStack(webhookEnv());
  });
  afterAll(() => stack.close());

  it(`a token that is used for ${size.tokenDays} days is renewed each hour`, async () => {
    const since = await stack.env.currentTimeMs();
    const lifeMs = size.tokenDays * day;
    const service = (elapsedMs: number) => reading(elapsedMs < lifeMs ? 'Reserved' : 'Completed');
    const handle = await stack.start(service, { scheduledAt: new Date(since + lifeMs).toISOString() });
    // Each read finds that the token has expired a minute before.
    await stack.hint(handle, every(hour + minute, lifeMs + hour));
    expect(await handle.result()).toMatchObject({ outcome: 'completed', attention: null });
    const gaps = stack.tokenRequests.slice(1).map((at, i) => at - (stack.tokenRequests[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(hour);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(hour + 2 * minute);
    expect(stack.tokenRequests.length).toBe(stack.reads.length);
    await expectBounded(`an order read each hour of ${size.tokenDays} days`, handle.workflowId);
    const scope = toScope('demand_partner');
    const lease = accessTokenId({ account: toAccountName('partner'), scope, credentialId: stack.credentialId });
    await expectBounded(`tokens over ${size.tokenDays} days`, lease);
  });

  it(`${size.deliveries} deliveries to one order are all counted`, async () => {
    let isOver = false;
    const service = () => reading(isOver ? 'Completed' : 'Driving');
    // This server loses signals that come while a run continues as new, so a run does that with the last one of 25, before 500 events.
    const order = await stack.start(service, { followForMs: 30 * day }, { maxEvents: 500, maxSignals: 300 });
    for (let sent = 25; sent <= size.deliveries; sent += 25) {
      await Promise.all(Array.from({ length: 25 }, () => deliver(order, newDelivery())));
      await expect.poll(async () => (await order.query(orderTrailQuery)).deliveries.received).toBe(sent);
    }
    isOver = true;
    await deliver(order, newDelivery());
    const received = size.deliveries + 1;
    expect(await order.result()).toMatchObject({ outcome: 'completed', deliveries: { received } });
    await expectBounded(`${size.deliveries} deliveries`, order.workflowId);
  });

  it(`a subscription of ${size.subscribedDays} days that is rotated daily keeps few addresses`, async () => {
    const key = { account: toAccountName('business'), eventType: 'business_report' as const };
    const { client } = stack.env;
    const started = await client.workflow.start<typeof subscription>('subscription', {
      workflowId: subscriptionId(key),
      taskQueue: stack.taskQueue,
      args: [{ ...key, publicUrl: 'https://rides.example' }, {}],
    });
    const handle = client.workflow.getHandle<typeof subscription>(started.workflowId);
    for (let elapsed = 0; elapsed < size.subscribedDays; elapsed += 1) {
      await stack.env.sleep(day);
      const { state, generations } = await handle.executeUpdate(rotateSubscriptionUpdate, { args: [{}] });
      expect(state).toBe('active');
      // The one in force and the one of the day before, whose grace ends about now.
      expect(generations.length).toBeLessThanOrEqual(3);
    }
    await expectBounded(`a subscription over ${size.subscribedDays} days`, handle.workflowId);
  });
});
