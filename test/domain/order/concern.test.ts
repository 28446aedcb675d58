import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Watch } from '../../../src/domain/account.js';
import { type AttentionCode, concernCodes, troubleCodes } from '../../../src/domain/attention.js';
import { iso } from '../../../src/domain/instant.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { concernIn, defaultWatch, isBeforePickup, isNews, noWatch } from '../../../src/domain/order/concern.js';
import {
  endStatuses,
  isSameStatus,
  openStatuses,
  rideStatuses,
  toKnownStatus,
} from '../../../src/domain/order/status.js';
import { forAny } from '../../support/for-any.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = Date.parse('2031-05-01T10:00:00Z');

/** An order that a read finds in this status. `since`: when the run found it; null: this read has. `shown`: the code that the run shows. */
interface OpenOrder {
  status: string;
  since: number | null;
  scheduledAt: number | null;
  requestedAt: number | null;
  followedSince: number;
  shown: AttentionCode | null;
  now: number;
}

function concernOf(
  { status, since, scheduledAt, requestedAt, followedSince, shown, now: at }: OpenOrder,
  watch: Watch,
) {
  const details = {
    ...(scheduledAt !== null && { scheduledAt: iso(scheduledAt) }),
    ...(requestedAt !== null && { requestedAt: iso(requestedAt) }),
  };
  const terminal = endStatuses.some((end) => isSameStatus(end, status));
  const look = {
    ...{ account: toAccountName('a'), orderId: toOrderId('1'), scheduledAt: null, attention: shown },
    ...{ rawStatus: since === null ? null : status, since: iso(since ?? at), followedSince: iso(followedSince) },
  };
  return concernIn({ status, rawStatus: status, terminal, details }, at, look, watch);
}

/** An order that has had its status for a day, followed for as long. */
const order = (status: string, more: Partial<OpenOrder> = {}): OpenOrder => ({
  status,
  since: now - day,
  scheduledAt: null,
  requestedAt: null,
  followedSince: now - day,
  shown: null,
  now,
  ...more,
});

it.each([
  ['what the run shows, in another spelling', false, { status: 'ROUTING' }, {}],
  ['another status', true, { status: 'Confirmed' }, {}],
  ['the first status', true, {}, { rawStatus: null }],
  ['an end that the profile alone knows', true, { terminal: true }, {}],
  ['another pick-up time', true, { details: { scheduledAt: iso(now + day) } }, { scheduledAt: iso(now + hour) }],
  ['the same pick-up time', false, { details: { scheduledAt: iso(now + day) } }, { scheduledAt: iso(now + day) }],
  ['no pick-up time', false, {}, { scheduledAt: iso(now + day) }],
  ['a concern', true, {}, { since: iso(now - hour) }],
  ['the concern that is shown', false, {}, { since: iso(now - hour), attention: 'stuckInStatus' as const }],
  ['the concern no longer', true, {}, { attention: 'stuckInStatus' as const }],
  ['that trouble is over', true, {}, { attention: 'forbidden' as const }],
  ['a concern behind trouble', true, {}, { since: iso(now - hour), attention: 'orderNotFound' as const }],
  ['an end after trouble', true, { terminal: true }, { attention: 'upstreamUnavailable' as const }],
])('a reading that shows %s is news to the run: %s', (_, isIt, found, shown) => {
  const reading = { status: 'Routing', rawStatus: 'Routing', terminal: false, details: null, ...found };
  const key = { account: toAccountName('a'), orderId: toOrderId('1'), attention: null, scheduledAt: null };
  const look = { ...key, rawStatus: 'Routing', since: iso(now), followedSince: iso(now), ...shown };
  expect(isNews(reading, now, look, defaultWatch)).toBe(isIt);
});

it('a pick-up may be late until a driver is there, and not after an unknown word or an end', () => {
  const before = [...rideStatuses, 'On hold'].filter(isBeforePickup);
  expect(before).toEqual(['Pending', 'Reserved', 'Unreserved', 'Routing', 'Confirmed']);
});

it.each(troubleCodes)('any reading is news to a run that shows trouble: %s', (attention) => {
  const key = { account: toAccountName('a'), orderId: toOrderId('1'), attention, scheduledAt: iso(now + day) };
  forAny(fc.constantFrom(...rideStatuses, 'On hold'), fc.nat(day), fc.boolean(), (status, ageMs, isWatched) => {
    const look = { ...key, rawStatus: status, since: iso(now - ageMs), followedSince: iso(now - day) };
    const reading = { status, rawStatus: status, terminal: false, details: { scheduledAt: key.scheduledAt } };
    expect(isNews(reading, now, look, isWatched ? defaultWatch : noWatch)).toBe(true);
  });
});

const codeOf = (about: OpenOrder, watch: Watch = defaultWatch) => concernOf(about, watch)?.code ?? null;

describe('an order that stays in a status', () => {
  it.each([
    ['Pending', 15],
    ['Routing', 30],
    ['Confirmed', 60],
    ['Waiting', 20],
    ['Driving', 360],
    ['ActiveOrder', 360],
  ])('is stuck while %s after %i minutes, in any spelling, and not before', (status, minutes) => {
    for (const word of [status, status.toUpperCase()]) {
      const since = now - minutes * minute;
      expect(codeOf(order(word, { since }))).toBe('stuckInStatus');
      expect(codeOf(order(word, { since: since + 1 }))).toBeNull();
    }
  });

  it.each(['Reserved', 'Unreserved'])('is never stuck while %s, unless the account says when', (status) => {
    expect(codeOf(order(status))).toBeNull();
    const watch = { ...defaultWatch, stuckAfterMs: { ...defaultWatch.stuckAfterMs, [status]: hour } };
    expect(codeOf(order(status), watch)).toBe('stuckInStatus');
  });

  it('names the status, since when, and who can help', () => {
    expect(concernOf(order('routing', { since: now - hour, scheduledAt: now + minute }), defaultWatch)).toEqual({
      code: 'stuckInStatus',
      message:
        'The order has been Routing since 2031-05-01 09:00:00 UTC, with the pick-up at 2031-05-01 10:01:00 UTC. ' +
        'Ask the dispatch desk of the service about this ride; nothing needs repair here.',
      since: new Date(now + minute - 15 * minute).toISOString(),
    });
  });

  // The time counts from 45 minutes before the pick-up for an order without a driver, and from the pick-up for a driver who came early.
  it.each([
    ['Pending', 30],
    ['Routing', 15],
    ['Confirmed', -15],
    ['Waiting', -20],
    ['ActiveOrder', -360],
  ])('with a pick-up ahead is stuck while %s from %i minutes before it on', (status, minutes) => {
    const watch = { ...defaultWatch, latePickupAfterMs: null };
    const scheduledAt = now + minutes * minute;
    expect(codeOf(order(status, { scheduledAt }), watch)).toBe('stuckInStatus');
    expect(codeOf(order(status, { scheduledAt: scheduledAt + 1 }), watch)).toBeNull();
  });

  it('with the passenger on board is stuck whatever its pick-up time', () => {
    expect(codeOf(order('Driving', { scheduledAt: now + day }))).toBe('stuckInStatus');
  });
});

describe('an order whose pick-up time is over', () => {
  it.each(['Pending', 'Reserved', 'Unreserved', 'Routing', 'Confirmed'])(
    'is late after ten minutes while %s, which outranks that it is stuck',
    (status) => {
      const scheduledAt = now - 10 * minute;
      expect(concernOf(order(status, { scheduledAt }), defaultWatch)).toMatchObject({
        code: 'latePickup',
        message: expect.stringMatching(
          new RegExp(`^The pick-up was due at 2031-05-01 09:50:00 UTC, and the order is still ${status}\\. `),
        ),
        since: new Date(now).toISOString(),
      });
      const young = { since: now - minute, scheduledAt: scheduledAt + 1 };
      expect(codeOf(order(status, young))).toBeNull();
    },
  );

  it.each(['Waiting', 'Driving', 'CareReq', 'ActiveOrder'])('is not late while %s', (status) => {
    expect(codeOf(order(status, { scheduledAt: now - hour }))).not.toBe('latePickup');
  });

  it('is not late while it is read for the first time, since the run counts from what it knows', () => {
    const old = { scheduledAt: now - day, since: null };
    expect(codeOf(order('Confirmed', { ...old, followedSince: now }))).toBeNull();
    expect(codeOf(order('Confirmed', { ...old, followedSince: now - 10 * minute }))).toBe('latePickup');
  });

  // Assumed: the pick-up time of such an order is that of its request.
  it('is not late if it was ordered for at once', () => {
    const scheduledAt = now - hour;
    const requestedAt = scheduledAt - 59_000;
    expect(codeOf(order('Confirmed', { scheduledAt, requestedAt, since: now }))).toBeNull();
    expect(codeOf(order('Confirmed', { scheduledAt, requestedAt: requestedAt - 1_000, since: now }))).toBe(
      'latePickup',
    );
  });
});

describe('an order that customer care has', () => {
  it.each(['CareReq', 'care_req'])('needs a person at once: %s', (status) => {
    const found = { code: 'customerCare', since: new Date(now).toISOString() };
    expect(concernOf(order(status, { since: null }), defaultWatch)).toMatchObject(found);
  });

  it('does not, if the account says so, or only after a time', () => {
    const watch = { ...defaultWatch, customerCare: false };
    expect(codeOf(order('CareReq'), watch)).toBeNull();
    const stuckAfterMs = { ...watch.stuckAfterMs, CareReq: day };
    expect(codeOf(order('CareReq'), { ...watch, stuckAfterMs })).toBe('stuckInStatus');
  });
});

describe('a concern that is shown', () => {
  const late = { since: now - 29 * minute - 30_000, scheduledAt: null };

  it('lasts for a worker whose clock is half a minute behind', () => {
    expect(codeOf(order('Routing', late))).toBeNull();
    expect(codeOf(order('Routing', { ...late, shown: 'stuckInStatus' }))).toBe('stuckInStatus');
  });

  it('does not last beyond the status', () => {
    const shown = 'stuckInStatus' as const;
    expect(codeOf(order('Waiting', { since: null, shown }), watchOf(1))).toBeNull();
  });

  it('does not last after the pick-up was moved', () => {
    const scheduledAt = now + hour;
    expect(codeOf(order('Confirmed', { scheduledAt, shown: 'latePickup' }))).toBeNull();
  });
});

/** Everything after so long. */
const watchOf = (afterMs: number): Watch => ({
  stuckAfterMs: Object.fromEntries(openStatuses.map((status) => [status, afterMs])) as Watch['stuckAfterMs'],
  latePickupAfterMs: afterMs,
  customerCare: true,
});

const times = fc.integer({ min: now - 30 * day, max: now + 30 * day });
const maybe = fc.option(times);
const watches = fc.oneof(fc.constantFrom(defaultWatch, noWatch), fc.integer({ min: 1_000, max: day }).map(watchOf));
const orders = (words: fc.Arbitrary<string>): fc.Arbitrary<OpenOrder> =>
  fc.record({
    status: words,
    since: maybe,
    scheduledAt: maybe,
    requestedAt: maybe,
    followedSince: times,
    shown: fc.constantFrom(null, 'forbidden' as const, ...concernCodes),
    now: fc.constant(now),
  });
const known = fc.constantFrom<string>(...rideStatuses);

describe('any order', () => {
  it('has no concern while its status is an unknown word, or ends it', () => {
    const unknown = fc.string().filter((word) => toKnownStatus(word) === undefined);
    const words = fc.oneof(unknown, fc.constantFrom('On hold', 'Stuck', 'Completed', 'canceled', 'REJECTED'));
    forAny(orders(words), watches, (about, watch) => {
      expect(concernOf(about, watch)).toBeNull();
    });
  });

  it('has no concern where nothing is watched', () => {
    forAny(orders(known), (about) => {
      expect(concernOf(about, noWatch)).toBeNull();
    });
  });

  it('keeps the concern that one worker found for a worker whose clock is up to a minute behind', () => {
    forAny(orders(known), watches, fc.nat(minute), (about, watch, behindMs) => {
      const before = { ...about, since: about.since ?? now - behindMs, shown: null };
      const shown = codeOf(before, watch);
      if (shown !== null) expect(codeOf({ ...before, shown, now: now - behindMs }, watch)).toBe(shown);
    });
  });

  it('has a concern no earlier than the status or the pick-up has lasted for the threshold', () => {
    forAny(orders(known), fc.integer({ min: 1_000, max: day }), (about, afterMs) => {
      const code = codeOf({ ...about, shown: null }, watchOf(afterMs));
      if (code === 'stuckInStatus') expect(now - (about.since ?? now)).toBeGreaterThanOrEqual(afterMs);
      if (code === 'latePickup') expect(now - (about.scheduledAt ?? now)).toBeGreaterThanOrEqual(afterMs);
    });
  });
});
