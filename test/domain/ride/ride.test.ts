import { describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { parseFollowOrderInput } from '../../../src/domain/order/input.js';
import { openTrail } from '../../../src/domain/order/trail.js';
import {
  brokenOffAgain,
  describeRide,
  followAgainAfterMs,
  followedPaceMs,
  openRide,
  outcomeUnknown,
  rideCallId,
  toRideResult,
} from '../../../src/domain/ride/ride.js';

const ride = openRide({ account: toAccountName('business'), requestId: 'trip-9', order: {} });
const following = { ...ride, stage: 'following', orderId: toOrderId('42') } as const;
const at = (minutes: number) => new Date(Date.UTC(2031, 4, 1, 10, minutes)).toISOString();

it('a ride that has ended has no driver, whatever the run of its order shows', () => {
  const { account, orderId } = following;
  const requestedAt = at(0);
  const trail = openTrail(parseFollowOrderInput({ account, orderId }), requestedAt);
  const details = { requestedAt, driver: { name: 'N' }, vehicle: { model: 'M' } };
  expect(toRideResult(following, { ...trail, details }, { tips: 1 })).toEqual({
    ...{ account, requestId: 'trip-9', orderId, outcome: null, receipt: { tips: 1 } },
    trail: { ...trail, details: { requestedAt } },
  });
  expect(toRideResult(ride, null, null).trail).toBeNull();
});

describe('a ride whose order is followed again', () => {
  it('waits twice as long each time in a row, ten minutes at most', () => {
    let found: ReturnType<typeof brokenOffAgain> | undefined;
    const pauses = Array.from({ length: 2_001 }, (_, minute) => {
      found = brokenOffAgain(found, 'NotFollowed: ended', at(minute));
      return followAgainAfterMs(found);
    });
    expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(Math.max(...pauses)).toBe(600_000);
    expect(found?.times).toBe(2_001);
  });

  it('begins a new row after an hour in which nothing happened', () => {
    const first = brokenOffAgain(undefined, 'NotFollowed: ended', at(0));
    expect(brokenOffAgain(first, 'NotFollowed: ended', at(59))).toMatchObject({ times: 2 });
    expect(brokenOffAgain(first, 'NotFollowed: ended', at(60))).toMatchObject({ times: 1, at: at(60) });
  });

  it('keeps a short reason that can be shown', () => {
    const { reason } = brokenOffAgain(undefined, `${'x'.repeat(299)}\u{1F695}\n`, at(0));
    expect(reason).toBe(`${'x'.repeat(299)}\uFFFD`);
  });

  it('shows in the Temporal UI when and how often that happened', () => {
    const followedAgain = { times: 2, at: at(5), reason: 'NotFollowed: an operator ended it.' };
    const text = describeRide({ ...following, followedAgain });
    expect(text).toContain(
      'The following of the order broke off at 2031-05-01 10:05:00 UTC, 2 times in a row, and was begun again.',
    );
    expect(text).toContain('an operator ended it');
  });
});

it('each ride has a request id of its own at the service', () => {
  const of = (account: string, requestId: string) => rideCallId({ account: toAccountName(account), requestId });
  expect(of('a', 'b.c')).not.toBe(of('a-b', 'c'));
  expect(of('a', 'b')).toBe(of('a', 'b'));
});

describe('a ride in the Temporal UI', () => {
  it('shows its stage, and words of the service as plain text', () => {
    const text = describeRide({ ...following, status: '**x**|<b>`' });
    expect(text).toContain('is followed');
    expect(text).toContain('`order/business/42`');
    expect(text).not.toMatch(/[|<]/);
  });

  it('tells a person what to do about an unknown outcome', () => {
    const text = describeRide({ ...ride, attention: outcomeUnknown('The answer was lost.', '2026-05-01T08:30:00Z') });
    expect(text).toContain('outcomeUnknown');
    for (const way of ['--order ID', '--try-again', '--give-up REASON']) expect(text).toContain(way);
  });
});

it('a ride looks for an announced end at once, and for another one now and then', () => {
  expect([1, 2, 3].map((attempt) => followedPaceMs(true, attempt))).toEqual([200, 400, 800]);
  expect([1, 2, 3].map((attempt) => followedPaceMs(false, attempt))).toEqual([5_000, 60_000, 60_000]);
  expect(followedPaceMs(true, 1_000)).toBe(60_000);
});
