import { expect, it } from 'vitest';
import { isTokenRequest } from '../../dev/sim/world/service.js';
import { workerConfig } from '../../dev/sim/world/settings.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import { rotateSubscriptionUpdate } from '../../src/workflows/messages.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { runsOf } from '../support/runs.js';
import { day, hour, type SimulatedStack, startSimulatedStack } from '../support/sim/stack.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

const minute = 60_000;

const size = isLong
  ? { tokenDays: 29, deliveries: 5_000, subscribedDays: 365 }
  : { tokenDays: 1, deliveries: 600, subscribedDays: 120 };
/** 500 events, and what the last task of a run may add before it continues as new. */
const longestRun = 600;

async function expectBounded({ ask }: SimulatedStack, workflowId: string): Promise<void> {
  const runs = await ask((client) => runsOf(client, workflowId));
  expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(longestRun);
  expect(runs.length).toBeGreaterThan(1);
}

it(`a token that is used for ${size.tokenDays} days is renewed in time, in runs that stay short`, async () => {
  const stack = startSimulatedStack();
  const { namespace, scheduler } = stack.world;
  const lifeMs = size.tokenDays * day;
  const scheduledAt = new Date(scheduler.now + lifeMs).toISOString();
  const run = await stack.follow(
    [
      ['Reserved', 0],
      ['Completed', lifeMs],
    ],
    { scheduledAt, followForMs: 2 * lifeMs },
  );
  expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
  const requests = stack.calls(isTokenRequest);
  const gaps = requests.slice(1).map((at, index) => at - (requests[index] ?? 0));
  // It lasts 899 s, and is renewed up to a minute before that, by the next poll.
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(13 * minute);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(22 * minute);
  const lease = namespace.all().find(({ type }) => type === 'accessToken');
  await expectBounded(stack, lease?.workflowId ?? '');
});

it(`${size.deliveries} deliveries to one order are all counted, in runs that stay short`, async () => {
  const stack = startSimulatedStack();
  const lifeMs = (size.deliveries / 50) * hour;
  const run = await stack.follow([
    ['Driving', 0],
    ['Completed', lifeMs],
  ]);
  for (let sent = 0; sent < size.deliveries; sent += 1) {
    await deliver(run, newDelivery());
    await stack.sleep(minute);
  }
  expect(await run.result()).toMatchObject({ outcome: 'completed', deliveries: { received: size.deliveries } });
  await expectBounded(stack, run.workflowId);
});

it(`a subscription of ${size.subscribedDays} days that is rotated daily keeps few addresses, in runs that stay short`, async () => {
  const stack = startSimulatedStack({ config: workerConfig(webhookEnv()) });
  const key = { account: stack.account, eventType: 'business_report' as const };
  const input = { ...key, publicUrl: 'https://rides.example' };
  const run = await stack.start('subscription', subscriptionId(key), [input, {}]);
  for (let elapsed = 0; elapsed < size.subscribedDays; elapsed += 1) {
    await stack.sleep(day);
    const { state, generations } = await run.executeUpdate(rotateSubscriptionUpdate, { args: [{}] });
    expect(state).toBe('active');
    // The one in force and the one of the day before, whose grace ends about now.
    expect(generations.length).toBeLessThanOrEqual(3);
  }
  await expectBounded(stack, run.workflowId);
});
