import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fourHourRide } from '../../dev/bench/rides.js';
import { WatchedOrder } from '../../src/activities/watch/watched-order.js';
import { defaultCadence } from '../../src/config.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { type DeliveryNotice, toDeliveryNotice } from '../../src/domain/delivery.js';
import { iso } from '../../src/domain/instant.js';
import { type OrderId, toAccountName, toOrderId } from '../../src/domain/keys.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { createWatchPort } from '../../src/temporal/watches.js';
import type { Arrival } from '../../src/webhooks/addresses.js';
import { createBodyReader } from '../../src/webhooks/body-reader.js';
import type { followOrder } from '../../src/workflows/order/follow-order.js';
import published from '../fixtures/deliveries.published.json' with { type: 'json' };
import { deliver } from '../support/delivery/deliveries.js';
import { type FollowHandle, shows } from '../support/order/stack.js';
import {
  scripted,
  startTimeSkippingStack,
  type TimeSkippingStack,
  virtualTime,
} from '../support/order/time-skipping.js';
import { patient } from '../support/patience.js';

// Counts the requests for an order of four hours with eight statuses. The run, the watched order with the default pace,
// and the reader of published deliveries are the real ones. The test calls the watch itself, because a polling activity
// would stop this server's clock. Tokens are not counted, as they belong to the account. An order alone reads no receipt.

const account = toAccountName('business');
const orderId = toOrderId('71000123');
const minute = 60_000;
const [[firstStatus] = ['']] = fourHourRide;
const statusAt = scripted(fourHourRide.map(([status, fromMs]) => [status, fromMs]));

let stack: TimeSkippingStack;
beforeEach(async () => {
  stack = await startTimeSkippingStack();
  // The published lifetime at the business interface (published.md 2.2).
  stack.onTokenRequest = () => ({ accessToken: randomUUID(), lifetimeMs: 899_000 });
  stack.plays(orderId, statusAt);
});
afterEach(() => stack.close());

const readBody = createBodyReader(defaultContractProfile);

/** The notice of a published delivery about this status, as the ingress makes it. */
function announcement(about: OrderId, status: string, at: number): DeliveryNotice {
  const message = JSON.stringify({ ...JSON.parse(published.statusChanged.message), order_id: Number(about), status });
  const body = { ...published.statusChanged, id: randomUUID(), message, timestamp: iso(at) };
  const arrival: Arrival = { account, eventType: 'status_changed', arrivedAt: at, generation: 'g1' };
  const rawBody = Buffer.from(JSON.stringify(body));
  return toDeliveryNotice(readBody(arrival, { headers: {}, rawBody, unpacked: rawBody, body, isClear: true }).delivery);
}

type Followed = Pick<FollowHandle, 'query' | 'result' | 'signal'>;

/** Begins to follow the order with its first delivery, as the ingress does, or without one, as a caller does. */
async function begin(isAnnounced: boolean): Promise<Followed> {
  const start = { workflowId: followOrderId({ account, orderId }), taskQueue: stack.taskQueue };
  const { workflow } = stack.env.client;
  const args: Parameters<typeof followOrder> = [{ account, orderId }];
  if (!isAnnounced) return await workflow.start<typeof followOrder>('followOrder', { ...start, args });
  const first = announcement(orderId, firstStatus, await stack.env.currentTimeMs());
  return await workflow.signalWithStart<typeof followOrder, [{ deliveries: DeliveryNotice[] }]>('followOrder', {
    ...start,
    args,
    signal: 'deliveryReceived',
    signalArgs: [{ deliveries: [first] }],
  });
}

/** The order as the watch takes it over from its run, and the clock of the watch. */
async function watched(clock: { now: number }): Promise<WatchedOrder> {
  const [taken] = await vi.waitUntil(() => stack.taken.length > 0 && stack.taken, patient);
  const found = stack.accounts.find(({ name }) => name === account);
  if (!taken || !found) throw new Error('the run has not handed its order over');
  clock.now = stack.firstReads.get(orderId) ?? Number.NaN;
  return new WatchedOrder(taken, true, {
    account: { ...found, poll: defaultCadence },
    runs: createWatchPort(stack.env.client, stack.taskQueue),
    counts: { read: 0, delivered: 0 },
    mayAsk: () => true,
    onHint: () => undefined,
    now: () => clock.now,
    monotonic: () => clock.now,
    random: () => 0.5,
  });
}

/** Plays the ride: each change is announced by a delivery. The minutes of the polls, from the first read on. */
async function play(handle: Followed): Promise<number[]> {
  const clock = { now: Number.NaN };
  const order = await watched(clock);
  const began = clock.now;
  const changes = fourHourRide.slice(1);
  const polls: number[] = [];
  for (;;) {
    const [status, fromMs] = changes[0] ?? ['', Number.POSITIVE_INFINITY];
    const at = Math.min(order.due, began + fromMs);
    await stack.env.sleep(Math.max(0, at - (await stack.env.currentTimeMs())));
    clock.now = at; // the server's clock is a little ahead on a busy machine
    if (at === began + fromMs) {
      changes.shift();
      await deliver(handle, announcement(orderId, status, clock.now));
      await shows(handle, { status });
      continue;
    }
    polls.push((clock.now - began) / minute);
    const found = await order.compare(statusAt(clock.now - began, clock.now));
    if (found === 'ended') return polls;
    order.due = order.nextDue(found);
  }
}

it.each([
  // 240 minutes at 5.25 minutes (5, and half of the jitter); the last poll finds that the run has ended.
  { begun: 'its first delivery', isAnnounced: true, requests: 54, before: 0, polls: 46 },
  // The first change, after five minutes, is the first sign that deliveries announce this order.
  { begun: 'a caller', isAnnounced: false, requests: 82, before: 29, polls: 45 },
])(
  'an order of four hours whose statuses published deliveries announce, begun by $begun, costs $requests requests',
  virtualTime,
  async ({ isAnnounced, requests, before, polls }) => {
    const handle = await begin(isAnnounced);
    const minutes = await play(handle);
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed', pushed: true, deliveries: { duplicate: 0 } });
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHourRide.map(([status]) => status));
    const named = trail.timeline.slice(isAnnounced ? 0 : 1);
    const lagMs = named.map(({ at, eventTime = '' }) => Date.parse(at) - Date.parse(eventTime));
    for (const ms of lagMs) expect(ms).toBeLessThan(minute);
    expect({ reads: stack.reads.length, polls: minutes.length }).toEqual({ reads: 8, polls: before + polls });
    expect(stack.reads.length + minutes.length).toBe(requests);
    const slow = minutes.slice(before);
    const gaps = slow.slice(1).map((at, index) => at - (slow[index] ?? 0));
    for (const gap of gaps) expect(gap).toBeCloseTo(5.25, 3);
    // Those of the run; the polls of the account use the same tokens.
    expect(stack.tokenRequests.length).toBeLessThanOrEqual(fourHourRide.length);
  },
);
