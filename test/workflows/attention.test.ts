import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { iso } from '../../src/domain/instant.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import type { FollowOrderInput } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { emptyLease } from '../../src/domain/token-lease.js';
import { accessTokenId } from '../../src/domain/workflow-ids.js';
import { RideApiError, RideApiUnreachable, TokenRefused, type UpstreamWords } from '../../src/ride-api/errors.js';
import { deliver, deliveryOf, newDelivery } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import type { FollowHandle } from '../support/order/stack.js';
import {
  every,
  onSkippedTime,
  reading,
  type ScriptedService,
  startTimeSkippingStack,
  type TimeSkippingStack,
  virtualTime,
} from '../support/order/time-skipping.js';

const minute = 60_000;
const words: UpstreamWords = { upstreamCode: null, requestId: null };

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack();
});
beforeEach(async ({ task }) => {
  stack = await onSkippedTime(stack, task);
  stack.reads.length = 0;
  stack.tokenRequests.length = 0;
});
afterAll(() => stack.close());

/** `Driving` for a minute, then `during` until `untilMs`, then `Driving` for half an hour, then the end. */
const interrupted =
  (untilMs: number, during: (now: number) => never): ScriptedService =>
  (elapsedMs, now) => {
    if (elapsedMs >= minute && elapsedMs < untilMs) during(now);
    return reading(elapsedMs < untilMs + 30 * minute ? 'Driving' : 'Completed');
  };

const failing = (error: Error) => (): never => {
  throw error;
};
const refuse = (code: RideApiError['code'], status: number, said = words) =>
  failing(new RideApiError(code, status, said));

const notFound = refuse('ORDER_UNKNOWN', 404, { upstreamCode: 'not_found', requestId: null });

/** The watch hints at these instants after the first read: some, then it is silent for a while, after which the trail is read, then the others. */
async function trailAfter(service: ScriptedService, [first, silentMs, others]: [number[], number, number[]]) {
  const handle = await stack.start(service);
  // Time must not be skipped before the worker has begun.
  await expect.poll(() => stack.reads.length + stack.tokenRequests.length).toBeGreaterThan(0);
  await stack.hint(handle, first);
  await stack.env.sleep(silentMs);
  const during: OrderTrail = await handle.query('orderTrail');
  await stack.hint(handle, others);
  const trail = await handle.result();
  const { events } = await handle.fetchHistory();
  return { during, trail, events: events?.length ?? 0 };
}

it('a token lease forgets that it has refused another token when no caller asks again, and its run ends', async () => {
  const key = { account: toAccountName('partner'), scope: toScope('demand_partner'), credentialId: stack.credentialId };
  const retryAt = iso(Date.now() + minute);
  const failure = { code: 'credentialsRejected' as const, message: 'too fast', at: retryAt, retryAt, isPaced: true };
  const input = { ...key, lease: { ...emptyLease, failure } };
  const options = { workflowId: accessTokenId(key), taskQueue: stack.taskQueue, args: [input] };
  const run = await stack.env.client.workflow.start('accessToken', options);
  expect(await run.result()).toMatchObject({ failure: null });
});

describe('trouble', virtualTime, () => {
  it.each([
    ['upstreamUnavailable', 10, refuse('UPSTREAM_FAILED', 503)],
    ['upstreamUnavailable', 10, failing(new RideApiUnreachable('NO_CONNECTION', 'https://service.example'))],
    ['unreadableStatus', 10, refuse('ERROR_IN_SUCCESS', 200)],
    ['orderNotFound', 10, notFound],
    ['forbidden', 2, refuse('FORBIDDEN', 403)], // a person must repair it, so it is shown at once
  ])(
    'of an hour is shown as %s after %i minutes, costs a read a minute, and clears itself',
    async (code, minutes, during) => {
      const result = await trailAfter(interrupted(60 * minute, during), [[minute], minutes * minute, [90 * minute]]);
      expect(result.during).toMatchObject({ attention: { code }, status: 'Driving', terminal: false });
      expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
      expect(result.trail.timeline.map(({ status }) => status)).toEqual(['Driving', 'Completed']);
      expect(result.events).toBeLessThan(60);
      const [first = 0, ...others] = stack.reads;
      expect(others.filter((at) => at - first < 55 * minute).length).toBeLessThan(85);
    },
  );

  it('waits as long as Retry-After says, with no attempt earlier, and shows at once until when', async () => {
    let askedAt = 0;
    const service: ScriptedService = (elapsedMs, now) => {
      if (elapsedMs === 0) return reading('Driving');
      if (askedAt === 0) {
        askedAt = now;
        throw new RideApiError('RATE_LIMITED', 429, words, 9 * minute);
      }
      return reading('Completed');
    };
    const result = await trailAfter(service, [[minute], minute, []]);
    const until = expect.stringMatching(/ Nothing is sent until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/);
    expect(result.during).toMatchObject({ attention: { code: 'upstreamUnavailable', message: until } });
    const next = stack.reads.find((at) => at > askedAt) ?? 0;
    expect(next - askedAt).toBeGreaterThanOrEqual(9 * minute);
    expect(next - askedAt).toBeLessThan(9 * minute + 15_000);
    expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
  });

  it.each(['credentialsRejected', 'scopeRejected', 'grantRejected'] as const)(
    '%s is shown with a remedy, asked at most once a minute, and the order resumes by itself',
    async (code) => {
      // The lease of the tests before this one has a token.
      await stack.close();
      stack = await startTimeSkippingStack();
      const before = stack.onTokenRequest;
      const brokenFrom = await stack.env.currentTimeMs();
      stack.onTokenRequest = (now) => {
        if (now < brokenFrom + 30 * minute) throw new TokenRefused(code, 401, words);
        return before(now);
      };
      const result = await trailAfter(() => reading('Completed'), [[], 10 * minute, []]);
      stack.onTokenRequest = before;
      expect(result.during).toMatchObject({
        status: null,
        attention: { code, message: expect.stringMatching(/check/i) },
      });
      expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
      expect(stack.tokenRequests.length).toBeGreaterThan(20);
      expect(shortestGap(stack.tokenRequests)).toBeGreaterThanOrEqual(minute);
    },
  );
});

/** The service does not find the order for so long. */
const missingFor =
  (forMs: number): ScriptedService =>
  (elapsedMs) =>
    elapsedMs < forMs ? notFound() : reading('Completed');

describe('an order that the service does not find', virtualTime, () => {
  it('ends as OrderNotFound once another order of the account was read under the same path', async () => {
    const other = await stack.start(() => reading('Driving'));
    const handle = await stack.start(missingFor(24 * 60 * minute));
    await stack.hint(other, every(minute, 10 * minute));
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'OrderNotFound', message: expect.stringContaining('Check the id') },
    });
    expect(await durationMs(handle)).toBeGreaterThanOrEqual(5 * minute);
    expect(await durationMs(handle)).toBeLessThan(10 * minute);
    await other.terminate();
  });

  const outages: [string, number, number][] = [
    ['three minutes', 3, 20],
    ['an hour', 60, 20],
  ];
  it.each(isLong ? outages : [['half an hour', 30, 4] as const])(
    'ends right though the service finds no order for %s',
    async (_, minutes, count) => {
      const beginsAt = await stack.env.currentTimeMs();
      const wrongPath: ScriptedService = (elapsedMs, now) => {
        if (now < beginsAt + minutes * minute) return notFound();
        return reading(elapsedMs < (minutes + 2) * minute ? 'Driving' : 'Completed');
      };
      const orders = await Promise.all(Array.from({ length: count }, () => stack.start(wrongPath)));
      const rides = await Promise.all(Array.from({ length: count / 4 }, () => stack.startRide(wrongPath)));
      const named = orders.slice(count / 2);
      await expect.poll(() => stack.reads.length).toBeGreaterThanOrEqual(orders.length + rides.length);
      for (let times = 1; times <= 3; times += 1) {
        await Promise.all(named.map((order) => deliver(order, deliveryOf('Driving'))));
        await stack.env.sleep((minutes * minute) / 3);
      }
      await stack.hint([...orders, ...rides.map(({ order }) => order)], [(minutes + 3) * minute]);
      for (const order of orders) expect(await order.result()).toMatchObject({ outcome: 'completed', attention: null });
      for (const ride of rides) expect(await ride.result()).toMatchObject({ outcome: 'completed' });
    },
  );
});

describe('an order that the service does not know yet is followed for as long as it takes', virtualTime, () => {
  const notify = [{ workflowId: 'ride/partner/trip-9', signal: 'rideOrderChanged' }];

  it.each<[string, Partial<FollowOrderInput>, (order: FollowHandle) => Promise<void> | void]>([
    ['a ride follows it from the start', { notify }, () => undefined],
    ['a ride joins', {}, (order) => order.signal('followRequested', { notify })],
    ['a delivery names it', {}, (order) => deliver(order, newDelivery())],
  ])('when %s', async (_, input, vouch) => {
    const order = await stack.start(missingFor(30 * minute), input);
    await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
    await stack.env.sleep(minute);
    await vouch(order);
    expect(await order.result()).toMatchObject({ outcome: 'completed', attention: null });
  });
});

/** By the server's record: its clock runs on to the next timer of any run as soon as a result is there. */
async function durationMs(handle: FollowHandle): Promise<number> {
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? 0) - startTime.getTime();
}

const shortestGap = (instants: number[]): number =>
  Math.min(...instants.slice(1).map((at, index) => at - (instants[index] ?? 0)));
