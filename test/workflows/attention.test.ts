import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { RideApiError, RideApiUnreachable, TokenRefused, type UpstreamWords } from '../../src/ride-api/errors.js';
import { isLong } from '../support/long.js';
import {
  reading,
  type ScriptedService,
  startTimeSkippingStack,
  type TimeSkippingStack,
} from '../support/order/time-skipping.js';

const second = 1_000;
const minute = 60 * second;
const words: UpstreamWords = { upstreamCode: null, requestId: null };
const later = { retry: true, afterMs: undefined } as const;

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack();
});
beforeEach(() => {
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

const refuse =
  (code: RideApiError['code'], status: number, decision: RideApiErrorDecision = { retry: false }, said = words) =>
  (): never => {
    throw new RideApiError(code, status, said, decision);
  };
type RideApiErrorDecision = ConstructorParameters<typeof RideApiError>[3];

async function trailAfter(service: ScriptedService, waitMs: number) {
  const handle = await stack.start(service);
  // Time must not be skipped before the worker has begun.
  await expect.poll(() => stack.reads.length + stack.tokenRequests.length).toBeGreaterThan(0);
  await stack.env.sleep(waitMs);
  const during: OrderTrail = await handle.query('orderTrail');
  const trail = await handle.result();
  const { events } = await handle.fetchHistory();
  return { during, trail, events: events?.length ?? 0 };
}

describe('trouble that passes by itself', () => {
  it('of under five minutes is retried in silence and costs no event', async () => {
    const quiet = await trailAfter(interrupted(minute, refuse('UPSTREAM_FAILED', 500, later)), 4 * minute);
    const troubled = await trailAfter(interrupted(5 * minute, refuse('UPSTREAM_FAILED', 500, later)), 4 * minute);
    expect(troubled.during).toMatchObject({ attention: null, status: 'Driving' });
    expect(troubled.trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(troubled.events).toBe(quiet.events);
  });

  it.each([
    ['upstreamUnavailable', refuse('UPSTREAM_FAILED', 503, later)],
    [
      'upstreamUnavailable',
      (): never => {
        throw new RideApiUnreachable('CONNECTION_REFUSED', 'https://service.example');
      },
    ],
    ['unreadableStatus', refuse('ERROR_IN_SUCCESS', 200)],
  ])('is shown as %s after five minutes, and clears itself', async (code, during) => {
    const result = await trailAfter(interrupted(60 * minute, during), 10 * minute);
    expect(result.during).toMatchObject({ attention: { code }, status: 'Driving', terminal: false });
    expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(result.trail.timeline.map(({ status }) => status)).toEqual(['Driving', 'Completed']);
    expect(result.events).toBeLessThan(60);
  });

  it('waits as long as Retry-After says, with no attempt earlier, and shows at once until when', async () => {
    let askedAt = 0;
    const service: ScriptedService = (elapsedMs, now) => {
      if (elapsedMs === 0) return reading('Driving');
      if (askedAt === 0) {
        askedAt = now;
        throw new RideApiError('RATE_LIMITED', 429, words, { retry: true, afterMs: 9 * minute });
      }
      return reading('Completed');
    };
    const result = await trailAfter(service, minute);
    const until = expect.stringMatching(/ Nothing is sent until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/);
    expect(result.during).toMatchObject({ attention: { code: 'upstreamUnavailable', message: until } });
    const next = stack.reads.find((at) => at > askedAt) ?? 0;
    expect(next - askedAt).toBeGreaterThanOrEqual(9 * minute);
    expect(next - askedAt).toBeLessThan(9 * minute + 15 * second);
    expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
  });
});

describe('trouble that a person repairs', () => {
  it('a missing permission is shown at once as forbidden, asked again every minute, and clears itself', async () => {
    const result = await trailAfter(interrupted(60 * minute, refuse('FORBIDDEN', 403)), 2 * minute);
    expect(result.during).toMatchObject({ attention: { code: 'forbidden' } });
    expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
    const during = stack.reads.filter((at, index) => index > 0 && at - (stack.reads[0] ?? 0) < 55 * minute);
    expect(during.length).toBeLessThan(70);
  });

  it.each(['credentialsRejected', 'scopeRejected', 'grantRejected'] as const)(
    '%s is shown with a remedy, asked at most once a minute, and the order resumes by itself',
    async (code) => {
      const before = stack.onTokenRequest;
      // The lease of the tests before this one has a token for an hour.
      await stack.env.sleep(3 * 60 * minute);
      const brokenFrom = await stack.env.currentTimeMs();
      stack.onTokenRequest = (now) => {
        if (now < brokenFrom + 30 * minute) throw new TokenRefused(code, 401, words);
        return before(now);
      };
      const result = await trailAfter(
        (elapsedMs) => reading(elapsedMs < minute ? 'Driving' : 'Completed'),
        10 * minute,
      );
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

  it('fresh tokens that are rejected too lead to attention and to one token request a minute', async () => {
    const result = await trailAfter(interrupted(20 * minute, refuse('TOKEN_REJECTED', 401)), 5 * minute);
    expect(result.during).toMatchObject({ attention: { code: 'credentialsRejected' } });
    expect(result.trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(stack.tokenRequests.length).toBeLessThanOrEqual(22);
    // The first two belong to the burst: one for the old token, one for the token put in its place.
    expect(shortestGap(stack.tokenRequests.slice(2))).toBeGreaterThanOrEqual(minute);
  });
});

describe('what deliveries claim while the order cannot be read', () => {
  const delivery = (status: string) => ({
    deliveries: [{ deliveryId: status, eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00.000Z', status }],
  });

  it('stands in the timeline once a poll reads it again, the change counts as announced, and no read is made for it meanwhile', async () => {
    const handle = await stack.start((elapsedMs) => {
      if (elapsedMs >= minute && elapsedMs < 20 * minute) refuse('FORBIDDEN', 403)();
      return reading(elapsedMs < minute ? 'Routing' : elapsedMs < 40 * minute ? 'Driving' : 'Completed');
    });
    await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
    await stack.env.sleep(3 * minute);
    for (const status of ['Confirmed', 'Waiting']) await handle.signal('deliveryReceived', delivery(status));
    await stack.env.sleep(22 * minute);
    expect(await handle.query('orderTrail')).toMatchObject({ status: 'Driving', pushed: true, attention: null });
    const { timeline } = await handle.result();
    expect(timeline.map(({ status, source }) => `${status} by ${source}`)).toEqual([
      'Routing by read',
      'Confirmed by delivery',
      'Waiting by delivery',
      'Driving by read',
      'Completed by read',
    ]);
    // One a minute, and one for the deliveries each.
    const first = stack.reads[0] ?? 0;
    const during = stack.reads.filter((at) => at - first >= 3 * minute && at - first < 19 * minute);
    expect(during.length).toBeLessThan(20);
  });
});

const notFound = () => refuse('ORDER_UNKNOWN', 404, { retry: false }, { upstreamCode: 'not_found', requestId: null })();

describe('an order that the service does not find', () => {
  const missingFor =
    (forMs: number, then: ScriptedService = () => reading('Completed')): ScriptedService =>
    (elapsedMs, now) =>
      elapsedMs < forMs ? notFound() : then(elapsedMs, now);

  it('is looked for for two minutes in silence', async () => {
    const handle = await stack.start(missingFor(1.5 * minute));
    expect(await handle.result()).toMatchObject({ outcome: 'completed', attention: null });
    const { events } = await handle.fetchHistory();
    expect(JSON.stringify(events)).not.toContain('orderNotFound');
  });

  it('shows it then with a remedy, and goes on by itself once it is found', async () => {
    const { during, trail } = await trailAfter(missingFor(60 * minute), 10 * minute);
    const message = expect.stringContaining('operations.orderStatus.path');
    expect(during).toMatchObject({ status: null, attention: { code: 'orderNotFound', message } });
    expect(trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(stack.reads.length).toBeLessThan(80);
  });

  it('ends as OrderNotFound once another order of the account was read under the same path', async () => {
    const other = await stack.start((elapsedMs) => reading(elapsedMs < 30 * minute ? 'Driving' : 'Completed'));
    const handle = await stack.start(missingFor(24 * 60 * minute));
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'OrderNotFound', message: expect.stringContaining('Check the id') },
    });
    expect(await durationMs(handle)).toBeGreaterThanOrEqual(5 * minute);
    expect(await durationMs(handle)).toBeLessThan(10 * minute);
    await other.result();
  });

  const outages: [string, number, number][] = isLong
    ? [
        ['three minutes', 3, 20],
        ['an hour', 60, 20],
      ]
    : [['half an hour', 30, 4]];
  it.each(outages)('ends right though no order is found for %s', async (_, minutes, count) => {
    const beginsAt = await stack.env.currentTimeMs();
    const wrongPath: ScriptedService = (elapsedMs, now) => {
      if (now < beginsAt + minutes * minute) return notFound();
      return reading(elapsedMs < (minutes + 2) * minute ? 'Driving' : 'Completed');
    };
    const orders = await Promise.all(Array.from({ length: count }, () => stack.start(wrongPath)));
    const rides = await Promise.all(Array.from({ length: count / 4 }, () => stack.startRide(wrongPath)));
    await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
    for (let times = 1; times <= 3; times += 1) {
      await Promise.all(orders.slice(count / 2).map((order) => order.signal('deliveryReceived', deliveryOf(times))));
      await stack.env.sleep((minutes * minute) / 3);
    }
    for (const order of orders) expect(await order.result()).toMatchObject({ outcome: 'completed', attention: null });
    for (const ride of rides) expect(await ride.result()).toMatchObject({ outcome: 'completed' });
  });
});

const deliveryOf = (times: number) => ({
  deliveries: [
    { deliveryId: `${times}`, eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00.000Z', status: 'Driving' },
  ],
});

describe('an order that the service does not know yet, though a ride or a delivery vouches for it', () => {
  const ride = { workflowId: 'ride/partner/trip-9', signal: 'rideOrderChanged' };
  const delivery = {
    deliveries: [{ deliveryId: 'd', eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00Z' }],
  };

  it.each([
    ['a ride that follows it from the start', { notify: [ride] }, null],
    ['a ride that joins', {}, ['followRequested', { notify: [ride] }]],
    ['a delivery', {}, ['deliveryReceived', delivery]],
  ] as const)(
    'is followed for as long as it takes: %s',
    async (_, { notify = [] }: { notify?: readonly object[] }, message) => {
      const handle = await stack.start(
        (elapsedMs) => {
          if (elapsedMs < 30 * minute) notFound();
          return reading('Completed');
        },
        { notify: notify as never },
      );
      await expect.poll(() => stack.reads.length).toBeGreaterThan(0);
      await stack.env.sleep(minute);
      if (message) await handle.signal(message[0], message[1] as never);
      expect(await handle.result()).toMatchObject({ outcome: 'completed', attention: null });
    },
  );
});

it('stops following with the outcome expired, counted from the later of start and pick-up', async () => {
  const scheduledAt = new Date((await stack.env.currentTimeMs()) + 60 * minute).toISOString();
  const handle = await stack.start(() => reading('Reserved'), { scheduledAt, followForMs: 10 * minute });
  expect(await handle.result()).toMatchObject({ outcome: 'expired', terminal: false, status: 'Reserved' });
  const tookMs = await durationMs(handle);
  expect(tookMs).toBeGreaterThanOrEqual(69.9 * minute);
  expect(tookMs).toBeLessThan(71 * minute);
});

/** By the server's record: its clock runs on to the next timer of any run as soon as a result is there. */
async function durationMs(handle: Awaited<ReturnType<TimeSkippingStack['start']>>): Promise<number> {
  const { startTime, closeTime } = await handle.describe();
  return (closeTime?.getTime() ?? 0) - startTime.getTime();
}

const shortestGap = (instants: number[]): number =>
  Math.min(...instants.slice(1).map((at, index) => at - (instants[index] ?? 0)));
