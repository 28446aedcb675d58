import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cadence } from '../../../src/domain/account.js';
import { type CadenceInput, nextReadMs } from '../../../src/domain/order/cadence.js';
import { forAny } from '../../support/for-any.js';

const cadence = Object.freeze({ activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 });
const now = Date.parse('2031-05-01T10:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const base: CadenceInput = { status: 'Confirmed', since: now, scheduledAt: null, pushed: false, now };
const pace = (input: Partial<CadenceInput>): number => nextReadMs(Object.freeze({ ...base, ...input }), cadence);

/** Settings in the order that makes sense: nothing is read faster than an active order. */
const cadences = fc
  .tuple(fc.integer({ min: 100, max: 100_000 }), fc.nat(86_000_000), fc.nat(86_000_000))
  .map(([activeMs, moreReserved, morePushed]): Required<Cadence> => {
    return { activeMs, reservedMs: activeMs + moreReserved, pushedMs: activeMs + morePushed };
  });
const statuses = fc.constantFrom(null, 'Pending', 'Reserved', 'un_reserved', 'Driving', 'CareReq', 'On hold');
const inputs: fc.Arbitrary<CadenceInput> = fc.record({
  status: statuses,
  since: fc.integer({ min: now - 30 * 24 * hour, max: now + minute }),
  scheduledAt: fc.option(fc.integer({ min: now - 30 * 24 * hour, max: now + 30 * 24 * hour })),
  pushed: fc.boolean(),
  now: fc.constant(now),
});
describe('an active order', () => {
  const active = [null, 'Pending', 'Routing', 'Confirmed', 'Waiting', 'Driving', 'ActiveOrder', 'On hold'];
  it.each(active)('is read at the fast pace while it is %j', (status) => {
    expect(pace({ status })).toBe(10_000);
  });

  // After a sixtieth of that time, up to six times slower. A status may come from the future by the clock of the worker.
  it.each([
    [-60, 10_000],
    [10, 10_000],
    [30, 30_000],
    [60, 60_000],
    [6_000, 60_000],
  ])('is read less often the longer its status lasts: after %d minutes every %d ms', (minutes, everyMs) => {
    expect(pace({ since: now - minutes * minute })).toBe(everyMs);
  });
});

describe('a reserved order', () => {
  it.each(['Reserved', 'Unreserved', 'RESERVED'])('is read slowly while it is %j', (status) => {
    expect(pace({ status })).toBe(300_000);
    expect(pace({ status, scheduledAt: now + 24 * hour })).toBe(300_000);
  });

  it.each([
    [30, 10_000],
    [1, 10_000],
    [-60, 10_000],
    [32, 2 * minute],
  ])('is read like an active one from half an hour before the pick-up on: %d minutes before, in %d ms', (left, ms) => {
    expect(pace({ status: 'Reserved', scheduledAt: now + left * minute })).toBe(ms);
  });

  it('is never slept over the moment at which the fast pace begins', () => {
    forAny(inputs, cadences, (input, settings) => {
      const reserved = { ...input, status: 'Reserved', pushed: false };
      const leftMs = Number(reserved.scheduledAt) - 30 * minute - now;
      fc.pre(reserved.scheduledAt !== null && leftMs > 0);
      expect(nextReadMs(reserved, settings)).toBeLessThanOrEqual(Math.max(leftMs, settings.activeMs));
    });
  });
});

describe('an order whose changes are announced', () => {
  it('is read at the slow pace', () => {
    expect(pace({ pushed: true })).toBe(120_000);
    expect(pace({ pushed: true, status: 'Reserved', scheduledAt: now })).toBe(120_000);
  });

  it('is not read more often than it would be by itself', () => {
    expect(pace({ pushed: true, status: 'Reserved' })).toBe(300_000);
    forAny(inputs, cadences, (input, settings) => {
      const pushed = nextReadMs({ ...input, pushed: true }, settings);
      expect(pushed).toBeGreaterThanOrEqual(nextReadMs({ ...input, pushed: false }, settings));
      expect(pushed).toBeGreaterThanOrEqual(settings.pushedMs);
    });
  });
});

it('an order at customer care is read at the slow pace', () => {
  expect(pace({ status: 'care_req' })).toBe(120_000);
});

it('the pace of any order is never faster than the active one, nor slower than the slowest of the three', () => {
  forAny(inputs, cadences, (input, settings) => {
    const ms = nextReadMs(input, settings);
    expect(Number.isInteger(ms)).toBe(true);
    expect(ms).toBeGreaterThanOrEqual(settings.activeMs);
    expect(ms).toBeLessThanOrEqual(Math.max(settings.reservedMs, settings.pushedMs, 6 * settings.activeMs));
  });
});
