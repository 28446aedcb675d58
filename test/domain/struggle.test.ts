import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TroubleCode, troubleCodes } from '../../src/domain/attention.js';
import { judge, type Struggle, struggleAfter } from '../../src/domain/struggle.js';
import { forAny } from '../support/for-any.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const calm = { shown: null, now: start, random: 0 };
const trouble = (code: TroubleCode, afterMs?: number) => ({ code, message: `${code} it is`, afterMs });
const begun = (code: TroubleCode, afterMs?: number): Struggle => struggleAfter(null, trouble(code, afterMs), calm);
const waitOf = ({ notBefore }: Struggle, from = start): number => Date.parse(notBefore) - from;

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

describe('patience', () => {
  it.each([
    ['upstreamUnavailable', 5, 5 * minute],
    ['unreadableStatus', 5, 5 * minute],
    ['orderNotFound', 2, hour], // a look, not the end of the patience, ends this wait
  ] as const)('with %s, which may pass by itself, lasts %d minutes', (code, minutes, waitMs) => {
    const struggle = { ...begun(code), notBefore: new Date(start + hour).toISOString() };
    const end = start + minutes * minute;
    expect(judge(struggle, null, start)).toEqual({ act: 'wait', waitMs });
    expect(judge(struggle, null, end - 1).act).toBe('wait');
    expect(judge(struggle, null, end)).toEqual({ act: 'raise' });
  });

  it.each(lasting)('with %s, which a person must repair, is none', (code) => {
    expect(judge(begun(code), null, start)).toEqual({ act: 'raise' });
  });

  it('is none with a wait of over a minute that was asked for: people see at once until when', () => {
    const struggle = begun('upstreamUnavailable', minute + 1);
    expect(judge(struggle, null, start)).toEqual({ act: 'raise' });
    expect(struggle.message).toBe('upstreamUnavailable it is Nothing is sent until 2031-05-01 10:01:00 UTC.');
    const short = begun('upstreamUnavailable', minute);
    expect(judge(short, null, start)).toEqual({ act: 'wait', waitMs: minute });
    expect(short.message).toBe('upstreamUnavailable it is');
  });

  it('is not lost again for what is shown already', () => {
    const struggle = begun('upstreamUnavailable', 2 * hour);
    expect(judge(struggle, 'upstreamUnavailable', start + hour)).toEqual({ act: 'wait', waitMs: hour });
    expect(judge(struggle, 'upstreamUnavailable', start + 2 * hour)).toEqual({ act: 'look' });
    expect(judge(struggle, 'forbidden', start + hour)).toEqual({ act: 'raise' });
  });

  // The last look may be long ago: worker down, account queue behind.
  it.each([...passing, 'orderNotFound'] as const)(
    'with %s does not end without a look, when one is allowed',
    (code) => {
      expect(judge(begun(code), null, start + hour)).toEqual({ act: 'look' });
    },
  );
});

describe('a stretch of trouble', () => {
  it('goes on while the same trouble lasts', () => {
    const later = struggleAfter(begun('orderNotFound'), trouble('orderNotFound'), { ...calm, now: start + minute });
    expect(later).toMatchObject({ since: '2031-05-01T10:00:00.000Z', failures: 2 });
  });

  it('goes on when an outage shows itself now as a time-out, now as a broken answer', () => {
    const first = begun('upstreamUnavailable');
    const next = struggleAfter(first, trouble('unreadableStatus'), { ...calm, now: start + minute });
    expect(next).toMatchObject({ code: 'unreadableStatus', message: 'unreadableStatus it is', since: first.since });
    const last = struggleAfter(next, trouble('upstreamUnavailable'), calm);
    expect(last).toMatchObject({ since: first.since, failures: 3 });
  });

  it.each([
    ['upstreamUnavailable', 'orderNotFound'],
    ['orderNotFound', 'unreadableStatus'],
    ['credentialsRejected', 'upstreamUnavailable'],
    ['upstreamUnavailable', 'forbidden'],
    ['forbidden', 'credentialsRejected'],
  ] as const)('of %s ends where %s begins', (before, code) => {
    const next = struggleAfter(begun(before), trouble(code), { ...calm, now: start + minute });
    expect(next).toMatchObject({ code, since: '2031-05-01T10:01:00.000Z', failures: 1 });
  });
});

describe('the pause after a failed look', () => {
  function pauses(code: TroubleCode, count: number, random = 0): number[] {
    let struggle: Struggle | null = null;
    return Array.from({ length: count }, () => {
      struggle = struggleAfter(struggle, trouble(code), { ...calm, random });
      return waitOf(struggle) / second;
    });
  }

  it.each([
    ...passing.map((code) => [code, [1, 2, 4, 8, 16, 32, 60, 60, 60]] as const),
    ['orderNotFound', [1, 2, 4, 8, 15, 15]] as const,
    ...lasting.map((code) => [code, [60, 60, 60]] as const),
  ])('with %s is, in seconds, %j', (code, seconds) => {
    expect(pauses(code, seconds.length)).toEqual(seconds);
  });

  it('is a minute while the trouble is shown, and after thousands of failures', () => {
    const shown = struggleAfter(null, trouble('unreadableStatus'), { ...calm, shown: 'unreadableStatus' });
    expect(waitOf(shown)).toBe(minute);
    const before = { ...begun('upstreamUnavailable'), failures: 100_000 };
    expect(waitOf(struggleAfter(before, trouble('upstreamUnavailable'), calm))).toBe(minute);
  });

  it('is spread upwards by up to a tenth', () => {
    expect(pauses('upstreamUnavailable', 3, 0.999_999)).toEqual([1.1, 2.2, 4.4]);
    expect(pauses('upstreamUnavailable', 3, 0.5)).toEqual([1.05, 2.1, 4.2]);
  });

  it('is what the service asks for, neither undercut nor spread, unless our own is longer', () => {
    forAny(looks, fc.integer({ min: 1, max: 86_400_000 }), fc.nat(20), ({ code, random }, afterMs, failures) => {
      const before = { ...begun(code), failures };
      const own = waitOf(struggleAfter(before, trouble(code), { ...calm, random }));
      expect(waitOf(struggleAfter(before, trouble(code, afterMs), { ...calm, random }))).toBe(Math.max(afterMs, own));
    });
  });

  it('is exactly that of the account where nothing was sent, and that counts as no failure', () => {
    const unsent = { ...trouble('upstreamUnavailable', 100), isUnsent: true };
    const before = { ...begun('upstreamUnavailable'), failures: 9 };
    const after = struggleAfter(before, unsent, calm);
    expect(waitOf(after)).toBe(100);
    expect(after.failures).toBe(9);
    expect(struggleAfter(null, unsent, calm).failures).toBe(0);
  });

  it('grows with every failure and ends at its cap, spread included', () => {
    forAny(codes, fc.nat(60), randoms, (code, failures, random) => {
      const after = (count: number) =>
        waitOf(struggleAfter({ ...begun(code), failures: count }, trouble(code), { ...calm, random }));
      expect(after(failures + 1)).toBeGreaterThanOrEqual(after(failures));
      expect(after(failures)).toBeGreaterThanOrEqual(second);
      expect(after(failures)).toBeLessThanOrEqual((code === 'orderNotFound' ? 15 : 60) * 1_100);
    });
  });
});

it('a verdict is never to look before the pause is over nor to wait twice, and what it is made of is plain JSON', () => {
  const histories = fc.array(looks, { minLength: 1, maxLength: 12 });
  forAny(histories, fc.option(codes), fc.nat(3 * hour), (history, shown, later) => {
    let now = start;
    let struggle: Struggle | null = null;
    for (const { code, afterMs, passMs, random } of history) {
      struggle = struggleAfter(struggle, trouble(code, afterMs), { shown, now, random });
      expect(JSON.parse(JSON.stringify(struggle))).toEqual(struggle);
      for (const at of [now, now + later]) {
        const verdict = judge(struggle, shown, at);
        if (verdict.act === 'look') expect(at).toBeGreaterThanOrEqual(Date.parse(struggle.notBefore));
        if (verdict.act === 'raise') expect(struggle.code).not.toBe(shown);
        if (verdict.act !== 'wait') continue;
        expect(verdict.waitMs).toBeGreaterThan(0);
        expect(judge(struggle, shown, at + verdict.waitMs).act).not.toBe('wait');
      }
      now += passMs;
    }
  });
});
