import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { streakAfter } from '../../../src/domain/failure-streak.js';
import { iso } from '../../../src/domain/instant.js';
import { toAccountName } from '../../../src/domain/keys.js';
import {
  currentGeneration,
  nextEnd,
  openGeneration,
  openSubscription,
  requestedGeneration,
  type SubscriptionState,
  unclearPauseMs,
  withLeftovers,
  withoutEnded,
  withSubscriber,
  withUnclearOutcome,
  withUnclearRequest,
} from '../../../src/domain/subscription/state.js';
import {
  describeSubscription,
  toSubscriptionMemo,
  toSubscriptionStatus,
} from '../../../src/domain/subscription/status.js';
import { findGeneration, generationPattern } from '../../../src/domain/subscription/subscription.js';
import { forAny } from '../../support/for-any.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const hour = 3_600_000;
const input = {
  account: toAccountName('business'),
  eventType: 'status_changed',
  publicUrl: 'https://rides.example',
} as const;
const empty = openSubscription(input);
const registration = { subscriber: { id: 'sub', createdAt: null, updatedAt: null }, sealedSecret: 'sealed' };

const registered = (state: SubscriptionState, now: number, graceMs = hour) =>
  withSubscriber(openGeneration(state, now), registration, { graceMs, now });
const lost = (state: SubscriptionState, now: number) => withUnclearRequest(openGeneration(state, now), 'lost', now);
const accepted = (state: SubscriptionState) => toSubscriptionMemo(state, input).accepted;

describe('the addresses of a subscription', () => {
  it('are named by the time, and never twice in the same millisecond', () => {
    const state = registered(registered(registered(empty, start), start), start - 5);
    const names = state.generations.map(({ generation }) => generation);
    expect(names).toEqual([start + 2, start + 1, start].map((at) => at.toString(36)));
    for (const name of names) expect(name).toMatch(generationPattern);
  });

  it('keep the earlier of two ends: a short grace cuts a long one, and no later rotation prolongs one', () => {
    const two = registered(registered(empty, start), start + 1, hour);
    const short = registered(two, start + 2, 0);
    expect(accepted(short).map(({ until }) => until)).toEqual([null, iso(start + 2), iso(start + 2)]);
    const late = registered(two, start + 2, 5 * hour);
    expect(accepted(late).at(-1)?.until).toBe(iso(start + 1 + hour));
  });

  it('are refused and forgotten once their grace is over', () => {
    const state = registered(registered(empty, start), start, 10);
    expect([nextEnd(state), nextEnd(registered(state, start + 5))]).toEqual([start + 10, start + 10]);
    expect(withoutEnded(state, start + 9)).toEqual({ state, ended: [] });
    const { state: after, ended } = withoutEnded(state, start + 10);
    expect(ended.map(({ generation }) => generation)).toEqual([start.toString(36)]);
    expect(after.generations).toEqual([state.generations[0]]);
    expect(nextEnd(after)).toBeUndefined();
  });

  it('are bounded in number whatever goes wrong', () => {
    let state = registered(empty, start);
    for (let i = 1; i <= 300; i += 1) state = withoutEnded(lost(state, start + i), start + i).state;
    expect(state.generations.length).toBeLessThanOrEqual(101);
    expect(currentGeneration(state)?.openedAt, 'the one in force is not among those given up').toBe(iso(start));
  });
});

describe('an address whose answer was lost', () => {
  it('needs a person only when it happens again and again, and the attention goes with the first success', () => {
    const twice = lost(lost(empty, start), start + 1);
    expect(twice.trouble).toBeNull();
    const thrice = lost(twice, start + 2);
    expect(thrice.trouble).toMatchObject({ code: 'outcomeUnknown', since: iso(start + 2) });
    expect(lost(thrice, start + 3).trouble).toMatchObject({ since: iso(start + 2) });
    expect(registered(thrice, start + 3)).toMatchObject({ trouble: null, unclearInRow: 0 });
  });

  it('is followed by the next one after a pause that doubles up to an hour', () => {
    const pauses = [1, 2, 3, 12, 13, 1_000].map((unclearInRow) => unclearPauseMs({ ...empty, unclearInRow }));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 2_048_000, hour, hour]);
  });

  it('does not make the next one wait for what it had to wait for itself', () => {
    const trouble = { code: 'forbidden', message: 'no' } as const;
    const streak = streakAfter(null, trouble, { shown: null, now: start, random: 0 });
    expect(withUnclearOutcome({ ...openGeneration(empty, start), streak }).streak).toBeNull();
  });
});

it('a subscription never accepts less than the service may deliver to, whatever happens', () => {
  const event = fc.constantFrom('register', 'lose', 'refuse', 'giveUp');
  forAny(fc.array(event, { maxLength: 40 }), (events) => {
    let state = empty;
    let now = start;
    let current: string | undefined;
    for (const each of events) {
      now += 1_000;
      if (!requestedGeneration(state)) state = openGeneration(state, now);
      const asked = requestedGeneration(state)?.generation ?? '';
      if (each === 'register') {
        state = withSubscriber(state, registration, { graceMs: hour, now });
        current = asked;
      }
      if (each === 'lose') state = withUnclearRequest(state, 'lost', now);
      if (each === 'giveUp') state = withUnclearOutcome(state);
      state = withoutEnded(state, now).state;
      expect(currentGeneration(state)?.generation).toBe(current);
      const judged = findGeneration(toSubscriptionMemo(state, input), asked, now);
      expect(judged, 'the address just asked for').toMatchObject({ generation: asked });
      if (current)
        expect(findGeneration(toSubscriptionMemo(state, input), current, now)).toMatchObject({ until: null });
    }
  });
});

describe('the status of a subscription', () => {
  it('is that of its addresses: asked for, in force, replaced, ended', () => {
    const times = { createdAt: '2031-05-01T10:00:00.123456789Z', updatedAt: '2031-05-01T10:00:01Z' };
    const first = withSubscriber(
      openGeneration(empty, start),
      { ...registration, subscriber: { id: 'a', ...times } },
      {
        graceMs: hour,
        now: start,
      },
    );
    const { generations, ...rest } = toSubscriptionStatus(registered(first, start + 1), false);
    const { account, eventType, publicUrl } = empty;
    expect(rest).toEqual({ account, eventType, publicUrl, state: 'active', stillRegistered: [], attention: null });
    expect(generations).toMatchObject([{ state: 'current', createdAt: null, updatedAt: null }, { subscriberId: 'a' }]);
    expect(generations[1]).toEqual({
      ...{ generation: start.toString(36), publicUrl, openedAt: iso(start), until: iso(start + 1 + hour), ...times },
      ...{ state: 'replaced', subscriberId: 'a', isSecretKnown: true },
    });
    const stateOf = (state: SubscriptionState, isEnded = false) => toSubscriptionStatus(state, isEnded).state;
    expect([stateOf(empty), stateOf(openGeneration(empty, start)), stateOf(first, true)]).toEqual([
      ...['subscribing', 'subscribing', 'ended'],
    ]);
  });

  it('tells the ingress the secret, or that it was lost, and until when the address is open', () => {
    const state = openGeneration(registered(lost(empty, start), start + 1), start + 2);
    expect(accepted(state)).toEqual([
      { generation: (start + 2).toString(36), until: null, secrets: [], isSecretLost: false },
      { generation: (start + 1).toString(36), until: null, secrets: ['sealed'], isSecretLost: false },
      { generation: start.toString(36), until: iso(start + 1 + hour), secrets: [], isSecretLost: true },
    ]);
    const judged = (name: number, now: number) =>
      findGeneration(toSubscriptionMemo(state, input), name.toString(36), now);
    expect(judged(start, start + hour)).toMatchObject({ isSecretLost: true });
    expect([judged(start, start + 1 + hour), judged(start + 3, start)]).toEqual(['ended', 'unknown']);
  });

  it('names each subscriber that is left behind once, the newest 200', () => {
    const ids = Array.from({ length: 250 }, (_, index) => `sub-${index}`);
    const left = (...subscriberIds: string[]) =>
      subscriberIds.map((subscriberId) => ({ kind: 'registered' as const, subscriberId }));
    const { stillRegistered } = withLeftovers(withLeftovers(empty, left(...ids)), left('sub-249', 'last'));
    expect(stillRegistered).toHaveLength(200);
    expect(stillRegistered.slice(-2)).toEqual(['sub-249', 'last']);
  });

  it('counts the subscribers that may be left behind', () => {
    const unknown = { kind: 'unknown' as const, subscriberId: null };
    const removed = { kind: 'removed' as const, subscriberId: 'sub-1' };
    expect(withLeftovers(empty, [removed])).not.toHaveProperty('unclearEnded');
    expect(withLeftovers(withLeftovers(empty, [unknown, unknown]), [removed, unknown]).unclearEnded).toBe(3);
  });
});

describe('a subscription in the Temporal UI', () => {
  const status = toSubscriptionStatus(registered(empty, start), false);

  it('shows its addresses with their subscribers', () => {
    const state = openGeneration(registered(lost(empty, start), start + 1), start + 2);
    expect(describeSubscription(toSubscriptionStatus(state, false)).replaceAll('\u00a0', '')).toBe(
      [
        '**active**: status_changed to https://rides.example\n',
        '| address | state | opened (UTC) | accepted until (UTC) | subscriber | secret known | signed in header |',
        '|---|---|---|---|---|---|---|',
        `| ${(start + 2).toString(36)} | requested | 2031-05-01 10:00:00 | - | - | no | - |`,
        `| ${(start + 1).toString(36)} | current | 2031-05-01 10:00:00 | - | sub | yes | - |`,
        `| ${start.toString(36)} | unclear | 2031-05-01 10:00:00 | 2031-05-01 11:00:00 | - | no | - |`,
      ].join('\n'),
    );
  });

  it('shows what needs a person, and what the service still has', () => {
    const attention = { code: 'forbidden', message: 'not | permitted', since: iso(start) } as const;
    const text = describeSubscription({ ...status, attention, stillRegistered: ['a', 'b'] });
    expect(text).toContain('**Attention: forbidden** since 2031-05-01 10:00:00 UTC: not   permitted');
    expect(text).toContain('still registered at the service: a, b');
  });

  it('stays below what the server takes, whatever the service sent', () => {
    const subscriberId = '\u4e2d'.repeat(200);
    const generations = Array.from({ length: 100 }, () => status.generations.map((one) => ({ ...one, subscriberId })));
    const attention = { code: 'forbidden', message: '\u4e2d'.repeat(900), since: iso(start) } as const;
    const stillRegistered = Array(200).fill(subscriberId);
    const text = describeSubscription({ ...status, generations: generations.flat(), attention, stillRegistered });
    expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(20_000);
  });
});
