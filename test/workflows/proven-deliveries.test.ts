import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import type { FollowHandle } from '../support/order/stack.js';
import {
  onSkippedTime,
  reading,
  type ScriptedService,
  scripted,
  startTimeSkippingStack,
  type TimeSkippingStack,
  virtualTime,
} from '../support/order/time-skipping.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

const minute = 60_000;
const hour = 60 * minute;
const account = toAccountName('business');

let stack: TimeSkippingStack;
const startStack = () => startTimeSkippingStack(webhookEnv());
beforeAll(async () => {
  stack = await startStack();
});
beforeEach(async () => {
  stack = await onSkippedTime(stack, startStack);
});
afterAll(() => stack.close());

const ride: [string, number][] = [
  ['Pending', 0],
  ['Routing', 5 * minute],
  ['Confirmed', 30 * minute],
  ['Waiting', 60 * minute],
  ['Driving', 75 * minute],
  ['CareReq', 150 * minute],
  ['Driving', 165 * minute],
  ['Completed', 4 * hour],
];

/** Follows an order of the service, and notes the virtual instants of its reads. */
async function follow(service: ScriptedService): Promise<{ handle: FollowHandle; reads: number[] }> {
  const reads: number[] = [];
  const noted: ScriptedService = (elapsedMs, now) => {
    reads.push(now);
    return service(elapsedMs, now);
  };
  return { handle: await stack.start(noted, { account }), reads };
}

/** Takes the order through its script; a delivery announces each change, except the end if that one is lost. */
async function announce(handle: FollowHandle, { isEndLost }: { isEndLost: boolean }): Promise<void> {
  let atMs = 0;
  for (const [status, fromMs] of ride.slice(1)) {
    await stack.env.sleep(fromMs + 1_000 - atMs);
    atMs = fromMs + 1_000;
    if (status !== 'Completed' || !isEndLost) await deliver(handle, newDelivery());
  }
}

it(
  'an announced ride of four hours is read at most 45 times while deliveries are proven; a lost end is seen within ten minutes, and then polls of the whole account have their usual pace',
  virtualTime,
  async () => {
    const subscription = await stack.startProvenSubscription();
    onTestFinished(async () => {
      await subscription.terminate();
    });
    const first = await follow(scripted(ride));
    await announce(first.handle, { isEndLost: false });
    expect(await first.handle.result()).toMatchObject({ outcome: 'completed', attention: null });
    expect(first.reads.length).toBeLessThanOrEqual(45);

    const other = await follow(() => reading('Driving'));
    await stack.env.sleep(minute);
    await deliver(other.handle, newDelivery());
    const lost = await follow(scripted(ride));
    await announce(lost.handle, { isEndLost: true });
    const { timeline } = await lost.handle.result();
    const lateMs = Date.parse(timeline.at(-1)?.at ?? '') - Date.parse(timeline[0]?.at ?? '') - 4 * hour;
    expect(lateMs).toBeGreaterThan(0);
    expect(lateMs).toBeLessThanOrEqual(10 * minute);
    const memo = async () => (await subscription.describe()).memo;
    await expect
      .poll(memo, { message: 'told of the miss', timeout: 20_000 })
      .toMatchObject({ reliability: { step: 0 } });

    const now = await stack.env.currentTimeMs();
    await stack.env.sleep(40 * minute);
    const readsIn = (from: number, to: number) => other.reads.filter((at) => at > from && at <= to).length;
    expect(readsIn(now - 40 * minute, now), 'each ten minutes').toBeLessThanOrEqual(5);
    expect(readsIn(now + 10 * minute, now + 40 * minute), 'each two minutes').toBeGreaterThanOrEqual(12);
    await other.handle.terminate();
  },
);
