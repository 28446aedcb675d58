import { describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { parseRequestRideInput, parseResolveRideInput } from '../../../src/domain/ride/input.js';
import { describeRide, followedPaceMs, openRide, outcomeUnknown, rideCallId } from '../../../src/domain/ride/ride.js';
import { fromRequestRideId, requestRideId } from '../../../src/domain/workflow-ids.js';

const order = { category: 'transportation' };
const input = { account: 'business', requestId: 'trip-9_a.b~c', order };

describe('the input of a ride', () => {
  it('is taken with what is optional left out, null or given', () => {
    expect(parseRequestRideInput({ ...input, receipt: null, notify: null })).toEqual(input);
    const all = { ...input, receipt: true, notify: [{ workflowId: 'trip/9', signal: 'rideChanged' }] };
    expect(parseRequestRideInput(all)).toEqual(all);
  });

  it.each([
    [undefined, /JSON object/],
    [{ ...input, poll: 1 }, /"poll"/],
    [{ ...input, account: 'Business' }, /^account/],
    [{ ...input, requestId: 'a/b' }, /^requestId/],
    [{ ...input, requestId: 'a'.repeat(101) }, /^requestId/],
    [{ ...input, order: [] }, /^order/],
    [{ ...input, order: {} }, /^order/],
    [{ ...input, order: { note: 'x'.repeat(65_536) } }, /^order/],
    [{ ...input, receipt: 'yes' }, /^receipt/],
    [{ ...input, notify: {} }, /^notify/],
  ])('is refused with the field that is wrong: %#', (given, message) => {
    expect(() => parseRequestRideInput(given)).toThrow(message);
  });
});

describe('a resolution', () => {
  it('is one of three things, and never two', () => {
    expect(parseResolveRideInput({ orderId: 42, reason: null })).toEqual({ orderId: '42' });
    expect(parseResolveRideInput({ tryAgain: true })).toEqual({ tryAgain: true });
    expect(parseResolveRideInput({ giveUp: true, reason: 'x' })).toEqual({ giveUp: true, reason: 'x' });
  });

  it.each([
    {},
    { tryAgain: false },
    { giveUp: true },
    { giveUp: true, reason: '' },
    { orderId: '1', tryAgain: true },
    { x: 1 },
  ])('is refused otherwise: %j', (given) => {
    expect(() => parseResolveRideInput(given)).toThrow();
  });
});

describe('the ids of a ride', () => {
  it('can be read back, and nothing else can', () => {
    const key = { account: toAccountName('business'), requestId: 'trip-9_a.b~c' };
    expect(fromRequestRideId(requestRideId(key))).toEqual(key);
    for (const id of ['ride/business', 'ride/business/a/b', 'ride/Business/a', 'order/business/a', 'ride/business/ ']) {
      expect(fromRequestRideId(id)).toBeUndefined();
    }
  });

  it('give each ride one of its own at the service', () => {
    const of = (account: string, requestId: string) => rideCallId({ account: toAccountName(account), requestId });
    expect(of('a', 'b.c')).not.toBe(of('a-b', 'c'));
    expect(of('a', 'b')).toBe(of('a', 'b'));
  });
});

describe('a ride in the UI', () => {
  const ride = openRide(parseRequestRideInput(input));

  it('shows where it stands, and lets no word of others be more than text', () => {
    const orderId = toOrderId('42');
    const text = describeRide({ ...ride, stage: 'following', orderId, status: '**x**|<b>`' });
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

it('an end that was told is looked for at once, one that nobody told now and then', () => {
  expect([1, 2, 3].map((attempt) => followedPaceMs(true, attempt))).toEqual([200, 400, 800]);
  expect([1, 2, 3].map((attempt) => followedPaceMs(false, attempt))).toEqual([5_000, 60_000, 60_000]);
  expect(followedPaceMs(true, 1_000)).toBe(60_000);
});
