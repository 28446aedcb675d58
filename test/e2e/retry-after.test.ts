import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { startCall } from '../support/call/calls.js';
import { deliver, newDelivery, reported } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { type Lane, useRideLanes } from '../support/ride/lanes.js';
import { isPending } from '../support/runs.js';
import { subscribe, webhookEnv } from '../support/subscription/subscriptions.js';

/** The longest wait that the worker grants, and for how long the service asks for one. */
const longestMs = 8_000;
const troubleMs = 4_000;
/** With pauses of 1, 2 and 4 s, and one for a person, or one that was on its way when the trouble began. */
const mostRequests = 4;

const wishes = {
  'a day': '86400',
  'a date next year': new Date(Date.now() + 365 * 86_400_000).toUTCString(),
  'no time': '0',
  'less than no time': '-1',
  'a word': 'soon',
};
const allCases = Object.entries(wishes).flatMap(([name, wish]) => [429, 503].map((status) => ({ status, name, wish })));
const cases = allCases.filter((_, index) => isLong || [0, 3].includes(index % 4));
const operations = ['orderDetails', 'orderReceipt', 'companySettings', 'createSubscriber', 'businessToken'] as const;
type Operation = (typeof operations)[number];

const env = { FARETRAIL_RETRY_AFTER_MAX_MS: String(longestMs), ...webhookEnv() };
/** A second try needs an account that holds no token yet. */
const tries = 2;
const rides = useRideLanes(tries * cases.length, { env, isHurried: false });
let lanesTaken = 0;

const requests = ({ sandbox }: Lane, operation: Operation, isRefused: boolean) =>
  sandbox.ledger({ operation }).filter(({ fault }) => (fault !== undefined) === isRefused);

/** Has these operations refuse for a while. Each must be asked, but not often, and served soon after. */
async function refuse(lane: Lane, refused: readonly Operation[], status: number, wish: string): Promise<void> {
  const { sandbox } = lane;
  sandbox.resetLedger();
  const headers = { 'retry-after': wish };
  for (const operation of refused) sandbox.setFault({ kind: 'reply', status, headers, operation });
  await sleep(troubleMs);
  sandbox.clearFaults();
  const clearedAt = Date.now();
  for (const operation of refused) {
    const served = () => requests(lane, operation, false).find(({ at }) => Date.parse(at) >= clearedAt);
    await vi.waitFor(() => expect(served(), operation).toBeDefined(), patient);
    expect(Date.parse(served()?.at ?? '') - clearedAt, operation).toBeLessThan(longestMs + 10_000);
    expect(requests(lane, operation, true).length, operation).toBeLessThanOrEqual(mostRequests);
  }
}

function follow({ account, sandbox }: Lane): Promise<FollowHandle> {
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  return startFollowing(rides.stack, { account, orderId });
}

/** A person asks for a read when the order was refused once, while a delivery waits for its own; gives how long after
 *  the refusal it was read again. */
async function refreshed(lane: Lane, order: FollowHandle): Promise<number> {
  const times = () => lane.sandbox.ledger({ operation: 'orderDetails' }).map(({ at }) => Date.parse(at));
  await deliver(order, newDelivery());
  await isPending(order, 'readOrder');
  const before = times().length;
  const answer = order.executeUpdate('refreshOrder');
  await vi.waitFor(() => expect(times().length).toBeGreaterThan(before), patient);
  await answer;
  return (times()[before] ?? 0) - (times()[before - 1] ?? 0);
}

// A busy server may lose the task of a read, which is missed after 30 s: then the order is not asked while the service refuses.
it.concurrent.each(cases)(
  'the worker keeps to its own longest wait after $status with $name',
  { retry: tries - 1 },
  async (one) => {
    const { status, name, wish } = one;
    const lane = rides.lanes[lanesTaken++] ?? expect.fail('no lane');
    const account = toAccountName(lane.account);
    const order = await follow(lane);
    await refuse(lane, ['businessToken'], status, wish);
    await shows(order, { status: 'Driving' });
    const others = ['orderDetails', 'orderReceipt', 'companySettings', 'createSubscriber'] as const;
    const refusing = refuse(lane, others, status, wish);
    refusing.catch(() => undefined); // awaited below
    // First the order: what is refused first keeps all other calls of the account waiting.
    await vi.waitFor(() => expect(requests(lane, 'orderDetails', true)).not.toEqual([]), patient);
    const readAgain = name.startsWith('a d') ? refreshed(lane, order) : 0;
    await reported(rides.stack, { account, orderId: order.workflowId.split('/')[2] ?? '' });
    const call = await startCall(rides.stack, 'companySettings', { account });
    const subscription = await subscribe(rides.stack, { account });
    await refusing;
    expect(await readAgain).toBeLessThan(longestMs - 1_000);
    expect(await call.result()).toMatchObject({ status: 200 });
    await subscription.active();
    await Promise.all([order.terminate(), subscription.handle.terminate()]);
  },
);
