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
    expect(describeRide({ ...following, followedAgain })).toMatch(
      /\n\nThe following of the order broke off at 2031-05-01 10:05:00 UTC, 2 times in a row, and was begun again\. NotFollowed: an operator ended it\.$/,
    );
    expect(describeRide({ ...following, followedAgain: { ...followedAgain, times: 1 } })).toContain(
      'UTC, and was begun',
    );
  });
});

it('each ride has a request id of its own at the service', () => {
  const of = (account: string, requestId: string) => rideCallId({ account: toAccountName(account), requestId });
  expect(of('a', 'b.c')).not.toBe(of('a-b', 'c'));
  expect(of('a', 'b')).toBe(of('a', 'b'));
});

describe('a ride in the Temporal UI', () => {
  it.each([
    ['requesting', 'is being ordered'],
    ['following', 'is followed'],
    ['receipt', 'has ended, its receipt is read'],
    ['ended', 'has ended'],
  ] as const)('shows its stage %s', (stage, words) => {
    expect(describeRide({ ...ride, stage })).toBe(`The ride **${words}**`);
  });

  it('shows where its order stands, in words of the service as plain text, and what needs a person', () => {
    const orderAttention = { code: 'latePickup', message: 'The pick-up was due.', since: at(0) } as const;
    expect(describeRide({ ...following, status: '<b>x`', outcome: 'completed', orderAttention })).toBe(
      [
        'The ride **is followed**, status ** b x **, outcome **completed**\n',
        'Order 42, followed by `order/business/42`\n',
        '**Attention: latePickup** since 2031-05-01 10:00:00 UTC: The pick-up was due.',
      ].join('\n'),
    );
  });

  it('tells a person what to do about an unknown outcome, and about no other attention', () => {
    const attention = outcomeUnknown(ride, { reason: 'The answer was lost.' }, at(0));
    expect(describeRide({ ...ride, attention })).toBe(
      [
        'The ride **is being ordered**\n',
        '**Attention: outcomeUnknown** since 2031-05-01 10:00:00 UTC: The answer was lost. The order may exist. Check with the service (request id ride.business.trip-9), then run  faretrail ride resolve business trip-9  with --order ID, --try-again or --give-up REASON.\n',
        '- `faretrail ride resolve business trip-9 --order ID`',
        '- `faretrail ride resolve business trip-9 --try-again`',
        '- `faretrail ride resolve business trip-9 --give-up REASON`',
      ].join('\n'),
    );
    expect(describeRide({ ...ride, attention: { ...attention, code: 'forbidden' } })).not.toContain('`faretrail');
  });

  it.each([
    ['7b21', '7b21'],
    ['trip 9', "'trip 9'"],
    // Markdown cannot show it as it is, and another sign in its place could name another order.
    ['7|b', 'ID'],
  ])('offers an order %s that the service named, as a command to copy', (id, shown) => {
    const suggestedOrderId = toOrderId(id);
    const attention = outcomeUnknown(ride, { reason: 'It was refused.', suggestedOrderId }, at(0));
    expect(describeRide({ ...ride, attention, suggestedOrderId })).toContain(
      `- \`faretrail ride resolve business trip-9 --order ${shown}\`\n`,
    );
  });
});

it('a ride reads an announced end at once, and otherwise each half hour', () => {
  const paces = (isEndTold: boolean) => [1, 2, 3, 4, 5, 6, 1_000].map((attempt) => followedPaceMs(isEndTold, attempt));
  expect(paces(true)).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 1_800_000]);
  expect(new Set(paces(false))).toEqual(new Set([1_800_000]));
});
