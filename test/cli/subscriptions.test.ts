import { describe, expect, it } from 'vitest';
import { toDurationMs } from '../../src/cli/arguments.js';
import { ageText, subscriptionsText, toListedSubscription } from '../../src/cli/subscription/list.js';
import { subscriptionEndText, subscriptionText } from '../../src/cli/subscription/view.js';
import { withoutColour } from '../../src/cli/text.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { GenerationStatus, SubscriptionStatus } from '../../src/domain/subscription/status.js';

const openedAt = '2031-05-01T10:00:00.000Z';
const generation = Date.parse(openedAt).toString(36);
const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
const current: GenerationStatus = {
  generation,
  state: 'current',
  publicUrl: 'https://rides.example',
  openedAt,
  until: null,
  subscriberId: 'sub-1',
  createdAt: '2031-05-01T10:00:01.5Z',
  updatedAt: null,
  isSecretKnown: true,
};
const status: SubscriptionStatus = {
  ...key,
  state: 'active',
  publicUrl: 'https://rides.example',
  generations: [current],
  stillRegistered: [],
  attention: null,
};

describe('a duration', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    ['2d', 172_800_000],
  ])('%s is read', (text, ms) => expect(toDurationMs(text, '--grace')).toBe(ms));

  it.each(['', '5', '-1s', '1.5h', '1 h', '2w', '1h30m', '99999999999d'])('"%s" is refused by name', (text) => {
    expect(() => toDurationMs(text, '--grace')).toThrow('--grace: must be a duration');
  });
});

describe('the list of subscriptions', () => {
  const now = Date.parse(openedAt) + 3 * 3_600_000;

  it('shows state, age and subscriber', () => {
    const text = subscriptionsText([toListedSubscription(key, status, [generation])], now, withoutColour);
    expect(text).toMatch(/business +status_changed +active +3 h +sub-1 +-/);
  });

  it('shows what the memo tells when no worker answers', () => {
    const listed = toListedSubscription(key, undefined, [generation]);
    expect(listed).toMatchObject({ state: 'unknown', openedAt, accepted: 1, subscriberId: null });
    expect(subscriptionsText([listed], now, withoutColour)).toMatch(/unknown +3 h +- +-/);
  });

  it.each([
    [5_000, '5 s'],
    [59 * 60_000, '59 min'],
    [47 * 3_600_000, '1 d'],
  ])('an age of %i ms is %s', (ms, text) => expect(ageText(ms)).toBe(text));
});

it('a subscription is shown with what needs a person and what the service still has, its end with what is left', () => {
  const attention = { code: 'forbidden', message: 'Check \u001b[2J the id.', since: openedAt } as const;
  const text = subscriptionText({ ...status, attention, stillRegistered: ['sub-0'] }, withoutColour);
  expect(text).toContain('forbidden since 2031-05-01 10:00:00 UTC');
  expect(text).toContain('still registered at the service: sub-0');
  expect(text).not.toContain('\u001b');
  const end = { ...key, reason: 'x', endedAt: openedAt, removed: ['a'], stillRegistered: ['b'], unclear: 1 };
  const left = /Removed at the service: a[\s\S]*unknown outcome: 1[\s\S]*still registered at the service: b/;
  expect(subscriptionEndText(end, withoutColour)).toMatch(left);
});
