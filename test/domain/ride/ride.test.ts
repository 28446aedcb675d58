import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../src/domain/errors.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { parseChangeRideInput } from '../../../src/domain/ride/input.js';
import { brokenOffAgain, describeRide, followAgainAfterMs, openRide } from '../../../src/domain/ride/ride.js';
import { changeRideId } from '../../../src/domain/workflow-ids.js';

const at = (minutes: number) => new Date(Date.UTC(2031, 4, 1, 10, minutes)).toISOString();

describe('a ride whose order is followed again', () => {
  it('waits twice as long each time in a row, ten minutes at most', () => {
    let found = brokenOffAgain(undefined, 'NotFollowed: ended', at(0));
    const pauses = [followAgainAfterMs(found)];
    for (let minute = 1; minute <= 2_000; minute += 1) {
      found = brokenOffAgain(found, 'NotFollowed: ended', at(minute));
      pauses.push(followAgainAfterMs(found));
    }
    expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(Math.max(...pauses)).toBe(600_000);
    expect(found.times).toBe(2_001);
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

  it('says so in the Temporal UI', () => {
    const account = toAccountName('business');
    const ride = { ...openRide({ account, requestId: 'trip-9', order: {} }), orderId: toOrderId('42') };
    const followedAgain = { times: 2, at: at(5), reason: 'NotFollowed: somebody ended it.' };
    const text = describeRide({ ...ride, stage: 'following', followedAgain });
    expect(text).toContain(
      'The following of the order broke off at 2031-05-01 10:05:00 UTC, 2 times in a row, and was begun again.',
    );
    expect(text).toContain('somebody ended it');
  });
});

const key = { account: toAccountName('business'), requestId: 'trip-9' };

describe('the input of a change that is sent for a caller', () => {
  it.each([
    ['updateRide', { order: { note_to_driver: 'blue door' } }],
    ['cancelRide', {}],
    ['resolveRide', { orderId: 4711 }],
    ['resolveRide', { giveUp: true, reason: 'booked by phone' }],
  ])('is taken: %s of %j', (change, argument) => {
    expect(parseChangeRideInput({ ...key, change, argument })).toEqual({ ...key, change, argument });
  });

  it.each([
    [null],
    [{ ...key, change: 'cancelRide' }],
    [{ ...key, change: 'cancelRide', argument: [] }],
    [{ ...key, change: 'cancelRide', argument: {}, order: {} }],
    [{ ...key, change: 'cancelRide', argument: { reason: 'late' } }],
    [{ ...key, change: 'updateRide', argument: {} }],
    [{ ...key, change: 'resolveRide', argument: { tryAgain: false } }],
    [{ ...key, change: 'toString', argument: {} }],
    [{ ...key, account: 'Not A Name', change: 'cancelRide', argument: {} }],
    [{ ...key, requestId: 'a/b', change: 'cancelRide', argument: {} }],
  ])('is refused: %j', (input) => {
    expect(() => parseChangeRideInput(input)).toThrow(InvalidInput);
  });
});

describe('the id of such a change', () => {
  const changeId = '2cc1dbce-02e0-4885-a68a-88eb0a893842';

  it('has the spelling that other programs rely on', () => {
    expect(changeRideId({ ...key, changeId })).toBe(`change/business/trip-9/${changeId}`);
  });
});
