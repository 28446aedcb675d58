import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TroubleCode, troubleCodes } from '../../src/domain/attention.js';
import { type FailureStreak, judge, streakAfter } from '../../src/domain/failure-streak.js';
import { iso } from '../../src/domain/instant.js';
import { forAny } from '../support/for-any.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const calm = { shown: null, now: start, random: 0 };
const trouble = (code: TroubleCode, afterMs?: number) => ({ code, message: `${code} it is`, afterMs });
const begun = (code: TroubleCode, afterMs?: number): FailureStreak => streakAfter(null, trouble(code, afterMs), calm);
const waitOf = ({ notBefore }: FailureStreak, from = start): number => Date.parse(notBefore) - from;

const passing = ['upstreamUnavailable', 'unreadableStatus'] as const;
const lasting = troubleCodes.filter((code) => ![...passing, 'orderNotFound'].includes(code));

const codes: fc.Arbitrary<TroubleCode> = fc.constantFrom(...troubleCodes);
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const looks = fc.record({
  code: codes,
  afterMs: fc.option(fc.integer({ min: 1, max: 2 * hour }), { nil: undefined }),
  passMs: fc.nat(10 * minute),
  random: randoms,
});

describe('the patience with trouble', () => {
  const lastLook = (code: TroubleCode): FailureStreak => ({ ...begun(code), notBefore: iso(start + hour) });
  const longWait = begun('upstreamUnavailable', 2 * hour);

  it.each<[string, FailureStreak, TroubleCode | null, ms: number, ReturnType<typeof judge>]>([
    ['that may pass begins with a wait', lastLook('upstreamUnavailable'), null, 0, { act: 'wait', waitMs: 5 * minute }],
    ['that may pass lasts five minutes', lastLook('upstreamUnavailable'), null, 5 * minute, { act: 'raise' }],
    ['just before', lastLook('unreadableStatus'), null, 5 * minute - 1, { act: 'wait', waitMs: 1 }],
    ['of a broken answer lasts as long', lastLook('unreadableStatus'), null, 5 * minute, { act: 'raise' }],
    // A look, not the end of the patience, ends this wait.
    ['with an unknown order begins with a wait', lastLook('orderNotFound'), null, 0, { act: 'wait', waitMs: hour }],
    ['with an unknown order lasts two minutes', lastLook('orderNotFound'), null, 2 * minute, { act: 'raise' }],
    ...lasting.map((code): [string, FailureStreak, null, number, { act: 'raise' }] => [
      `with ${code}, which a person must repair, is none`,
      begun(code),
      null,
      0,
      { act: 'raise' },
    ]),
    ['with a long wait is none: people see at once until when', longWait, null, 0, { act: 'raise' }],
    [
      'with a wait of a minute is usual',
      begun('upstreamUnavailable', minute),
      null,
      0,
      { act: 'wait', waitMs: minute },
    ],
    ['is not lost again for what is shown', longWait, 'upstreamUnavailable', hour, { act: 'wait', waitMs: hour }],
    ['ends in a look for what is shown', longWait, 'upstreamUnavailable', 2 * hour, { act: 'look' }],
    ['is its own for other trouble than is shown', longWait, 'forbidden', hour, { act: 'raise' }],
    // The last look may be long ago: worker down, account queue behind.
    ...([...passing, 'orderNotFound'] as const).map((code): [string, FailureStreak, null, number, { act: 'look' }] => [
      `with ${code} does not end without a look, when one is allowed`,
      begun(code),
      null,
      hour,
      { act: 'look' },
    ]),
  ])('%s', (_, streak, shown, ms, verdict) => {
    expect(judge(streak, shown, start + ms)).toEqual(verdict);
  });

  it('says until when nothing is sent, if that is long', () => {
    const { message } = begun('upstreamUnavailable', minute + 1);
    expect(message).toBe('upstreamUnavailable it is Nothing is sent until 2031-05-01 10:01:00 UTC.');
    expect(begun('upstreamUnavailable', minute).message).toBe('upstreamUnavailable it is');
  });
});

it.each<[TroubleCode, TroubleCode, isSame: boolean]>([
  ['orderNotFound', 'orderNotFound', true],
  // An outage shows itself now as a time-out, now as a broken answer.
  ['upstreamUnavailable', 'unreadableStatus', true],
  ['unreadableStatus', 'upstreamUnavailable', true],
  ['upstreamUnavailable', 'orderNotFound', false],
  ['orderNotFound', 'unreadableStatus', false],
  ['credentialsRejected', 'upstreamUnavailable', false],
  ['upstreamUnavailable', 'forbidden', false],
  ['forbidden', 'credentialsRejected', false],
])('a stretch of %s goes on with %s: %s', (before, code, isSame) => {
  const next = streakAfter(begun(before), trouble(code), { ...calm, now: start + minute });
  const since = isSame ? start : start + minute;
  expect(next).toMatchObject({ code, message: `${code} it is`, since: iso(since), failures: isSame ? 2 : 1 });
});

describe('the pause after a failed look', () => {
  function pauses(code: TroubleCode, count: number, random = 0): number[] {
    let streak: FailureStreak | null = null;
    return Array.from({ length: count }, () => {
      streak = streakAfter(streak, trouble(code), { ...calm, random });
      return waitOf(streak) / second;
    });
  }

  it.each<[TroubleCode, number[], random?: number]>([
    ...passing.map((code): [TroubleCode, number[]] => [code, [1, 2, 4, 8, 16, 32, 60, 60, 60]]),
    ['orderNotFound', [1, 2, 4, 8, 15, 15]],
    ...lasting.map((code): [TroubleCode, number[]] => [code, [60, 60, 60]]),
    ['upstreamUnavailable', [1.1, 2.2, 4.4], 0.999_999],
    ['upstreamUnavailable', [1.05, 2.1, 4.2], 0.5],
  ])('with %s is, in seconds, %j, spread by %s', (code, seconds, random) => {
    expect(pauses(code, seconds.length, random)).toEqual(seconds);
  });

  it('is a minute while the trouble is shown, and after thousands of failures', () => {
    const shown = streakAfter(null, trouble('unreadableStatus'), { ...calm, shown: 'unreadableStatus' });
    const before = { ...begun('upstreamUnavailable'), failures: 100_000 };
    for (const one of [shown, streakAfter(before, trouble('upstreamUnavailable'), calm)])
      expect(waitOf(one)).toBe(minute);
  });

  it('is what the service asks for, neither undercut nor spread, unless our own is longer', () => {
    forAny(looks, fc.integer({ min: 1, max: 86_400_000 }), fc.nat(20), ({ code, random }, afterMs, failures) => {
      const before = { ...begun(code), failures };
      const own = waitOf(streakAfter(before, trouble(code), { ...calm, random }));
      expect(waitOf(streakAfter(before, trouble(code, afterMs), { ...calm, random }))).toBe(Math.max(afterMs, own));
    });
  });

  it('is exactly that of the account where nothing was sent, and that counts as no failure', () => {
    const unsent = { ...trouble('upstreamUnavailable', 100), isUnsent: true };
    for (const before of [null, { ...begun('upstreamUnavailable'), failures: 9 }])
      expect(streakAfter(before, unsent, calm)).toMatchObject({
        failures: before?.failures ?? 0,
        notBefore: iso(start + 100),
      });
  });
});

it('a verdict is never to look before the pause is over nor to wait twice, and what it is made of is plain JSON', () => {
  const histories = fc.array(looks, { minLength: 1, maxLength: 12 });
  forAny(histories, fc.option(codes), fc.nat(3 * hour), (history, shown, later) => {
    let now = start;
    let streak: FailureStreak | null = null;
    for (const { code, afterMs, passMs, random } of history) {
      streak = streakAfter(streak, trouble(code, afterMs), { shown, now, random });
      expect(JSON.parse(JSON.stringify(streak))).toEqual(streak);
      for (const at of [now, now + later]) {
        const verdict = judge(streak, shown, at);
        if (verdict.act === 'look') expect(at).toBeGreaterThanOrEqual(Date.parse(streak.notBefore));
        if (verdict.act === 'raise') expect(streak.code).not.toBe(shown);
        if (verdict.act !== 'wait') continue;
        expect(verdict.waitMs).toBeGreaterThan(0);
        expect(judge(streak, shown, at + verdict.waitMs).act).not.toBe('wait');
      }
      now += passMs;
    }
  });
});
