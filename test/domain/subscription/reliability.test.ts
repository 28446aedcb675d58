import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { iso } from '../../../src/domain/instant.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import {
  earnedShare,
  isReliabilityNews,
  noReliability,
  type Reliability,
  reliabilityAfter,
} from '../../../src/domain/subscription/reliability.js';
import {
  openGeneration,
  openSubscription,
  type SubscriptionState,
  withMiss,
  withReliability,
  withSubscriber,
} from '../../../src/domain/subscription/state.js';
import {
  describeSubscription,
  toReliabilityMemo,
  toSubscriptionStatus,
} from '../../../src/domain/subscription/status.js';
import { forAny } from '../../support/for-any.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const hour = 3_600_000;
const day = 24 * hour;
const orderId = toOrderId('4711');
const terms = (now: number) => ({ everyMs: hour, endsPerStep: 50, now });
const missAt = (at: number) => ({ orderId, at: iso(at) });

/** Counts of an hour each, one after the other. */
function counted(held: Reliability, ...ends: number[]): Reliability {
  return ends.reduce(
    (record, count, hours) => reliabilityAfter(record, count, terms(start + (hours + 1) * hour)),
    held,
  );
}
const fresh = noReliability(iso(start));

describe('how reliable deliveries are', () => {
  it('rises by one step for each count and each 50 announced ends, to four', () => {
    expect(counted(fresh, 49).step).toBe(0);
    expect(counted(fresh, 50).step).toBe(1);
    expect(counted(fresh, 5_000).step, 'not all at once').toBe(1);
    expect(reliabilityAfter(fresh, 5_000, terms(start + hour - 1)).step, 'nor within an hour').toBe(0);
    expect(counted(fresh, 60, 110, 160, 210, 260).step).toBe(4);
    expect(counted(fresh, 200, 200, 99).step, 'falls at once').toBe(1);
  });

  it('is not proven for a day after a miss, whatever is counted', () => {
    const missed = { ...fresh, missed: missAt(start) };
    expect(reliabilityAfter(missed, 5_000, terms(start + day - 1)).step).toBe(0);
    expect(reliabilityAfter(missed, 5_000, terms(start + day)).step).toBe(1);
  });

  it('holds for a day, and is published again in the second half of it', () => {
    const proven = counted(fresh, 50);
    const at = start + hour;
    expect(proven).toMatchObject({ ends: 50, countedAt: iso(at), until: iso(at + day) });
    const again = (now: number) => isReliabilityNews(proven, reliabilityAfter(proven, 70, terms(now)), terms(now));
    expect(again(at + day / 2)).toBe(false);
    expect(again(at + day / 2 + 1)).toBe(true);
    expect(isReliabilityNews(fresh, counted(fresh, 49), terms(at)), 'nothing proven is no news').toBe(false);
  });

  it('never gives more than was counted, whatever comes', () => {
    const steps = fc.array(fc.oneof(fc.nat(400), fc.constant('miss' as const)), { maxLength: 60 });
    forAny(steps, (all) => {
      let record = fresh;
      let missedAt = Number.NEGATIVE_INFINITY;
      for (const [hours, one] of all.entries()) {
        const now = start + (hours + 1) * hour;
        if (one === 'miss') {
          record = { ...record, step: 0, missed: missAt(now) };
          missedAt = now;
          continue;
        }
        record = reliabilityAfter(record, one, terms(now));
        expect(record.step).toBeLessThanOrEqual(Math.floor(one / 50));
        if (now - missedAt < day) expect(record.step).toBe(0);
      }
    });
  });
});

const account = {
  account: toAccountName('business'),
  eventType: 'status_changed',
  publicUrl: 'https://rides.example',
} as const;
const registered = (state: SubscriptionState, now: number) =>
  withSubscriber(
    openGeneration(state, now),
    { subscriber: { id: 's', createdAt: null, updatedAt: null }, sealedSecret: 'x' },
    { graceMs: hour, now },
  );
const active = registered(openSubscription(account), start - hour);
const proven = withReliability(active, counted(fresh, 200, 200, 200, 200));
const stepOf = (state: SubscriptionState) => toReliabilityMemo(state, false)?.step;

describe('the record of a subscription', () => {
  it('is published for the workers, and nothing is before the first count', () => {
    expect(toReliabilityMemo(active, false)).toBeUndefined();
    expect(toReliabilityMemo(proven, false)).toEqual({ step: 4, until: iso(start + 4 * hour + day), missedAt: null });
    expect(toReliabilityMemo(proven, true)?.step, 'of an ended subscription').toBe(0);
  });

  it('is worth nothing after one miss, and a count that does not know of the miss changes nothing', () => {
    const before = counted(fresh, 200);
    const missed = withMiss(proven, missAt(start + 5 * hour));
    expect(toReliabilityMemo(missed, false)).toEqual({
      step: 0,
      until: iso(start + 5 * hour),
      missedAt: iso(start + 5 * hour),
    });
    expect(stepOf(withReliability(missed, before))).toBe(0);
    expect(withMiss(active, missAt(start)).reliability).toMatchObject({ step: 0, missed: missAt(start) });
  });

  it('is about the address in force, and holds only while the subscription is well', () => {
    expect(stepOf(registered(proven, start + 6 * hour)), 'a new address').toBe(0);
    const attention = { code: 'subscriptionSilent' as const, message: '', since: iso(start) };
    expect(stepOf({ ...proven, silence: attention })).toBe(0);
    expect(stepOf({ ...proven, trouble: { ...attention, code: 'forbidden' } })).toBe(0);
  });

  it('is shown to people in words', () => {
    expect(describeSubscription(toSubscriptionStatus(proven, false))).toContain(
      'Deliveries: proven, step 4 of 4: 200 ends were announced within a day, no miss',
    );
    const missed = describeSubscription(toSubscriptionStatus(withMiss(proven, missAt(start)), false));
    expect(missed).toContain(
      'not proven: 0 ends were announced within a day, the last miss was order 4711, 2031-05-01 10:00:00',
    );
    expect(toSubscriptionStatus(active, false).reliability).toBeNull();
  });
});

it('what a worker may stretch ends with the time of the proof', () => {
  const memo = { step: 3, until: iso(start), missedAt: null };
  expect(earnedShare(memo, start - 1)).toBe(0.75);
  expect(earnedShare(memo, start)).toBe(0);
});
