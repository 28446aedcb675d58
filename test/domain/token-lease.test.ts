import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  emptyLease,
  idleMs,
  isCoolingDown,
  isCurrent,
  isRejectedAfresh,
  isUsable,
  renewAheadMs,
  type TokenLease,
  tokenCoolDownMs,
  toTokenFailure,
  withFailure,
  withToken,
} from '../../src/domain/token-lease.js';
import { failureOf, leaseWith, start, tokenOf } from './leases.js';

const minute = 60_000;
const hour = 60 * minute;

describe('the compare-and-swap of a lease', () => {
  it('takes any wish while there is no token', () => {
    expect(isCurrent(emptyLease, null)).toBe(true);
    expect(isCurrent(emptyLease, 'token-of-a-run-before')).toBe(true);
  });

  it('takes only the wish that names the current token', () => {
    const lease = leaseWith(tokenOf('token-2'));
    expect(isCurrent(lease, 'token-2')).toBe(true);
    expect(isCurrent(lease, 'token-1')).toBe(false);
    expect(isCurrent(lease, null)).toBe(false);
  });

  it('makes any number of equal wishes cost one token', () => {
    const wishes = fc.array(fc.constantFrom(null, 'token-0', 'token-1'), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(wishes, (insteadOf) => {
        let lease: TokenLease = leaseWith(tokenOf('token-0'));
        for (const wish of insteadOf.filter((id) => id !== 'token-1')) {
          if (isCurrent(lease, wish)) lease = withToken(lease, tokenOf('token-1'), start);
        }
        expect(lease.renewals).toBe(insteadOf.includes('token-0') ? 2 : 1);
      }),
    );
  });
});

describe('a token', () => {
  it('is usable until the instant at which it expires', () => {
    const token = tokenOf('token-1');
    expect(isUsable(token, start)).toBe(true);
    expect(isUsable(token, start + hour - 1)).toBe(true);
    expect(isUsable(token, start + hour)).toBe(false);
  });

  it.each([
    [3_600_000, 60_000, 60_000],
    [899_000, 60_000, 60_000],
    [300_000, 60_000, 60_000],
    [299_000, 60_000, 59_800],
    [60_000, 60_000, 12_000],
    [1_000, 60_000, 200],
    [3_600_000, 5_000, 5_000],
  ])('that lives %d ms, with %d ms wished for, is renewed %d ms ahead', (lifetimeMs, earlyMs, aheadMs) => {
    expect(renewAheadMs(lifetimeMs, earlyMs)).toBe(aheadMs);
  });

  it('is renewed after it was obtained and before it ends, however short it lives', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 1, max: 3_600_000 }), (lifetimeMs, early) => {
        const aheadMs = renewAheadMs(lifetimeMs, early);
        expect(aheadMs > 0 && aheadMs <= early && aheadMs <= lifetimeMs / 5).toBe(true);
      }),
    );
  });
});

describe('a failed token request', () => {
  const trouble = (code: 'credentialsRejected' | 'upstreamUnavailable', retryAfterMs: number | null = null) =>
    ({ code, message: 'm', retryAfterMs }) as const;
  const pauseOf = (lease: TokenLease, retryAfterMs: number | null = null): number =>
    Date.parse(toTokenFailure(trouble('upstreamUnavailable', retryAfterMs), lease, start).retryAt) - start;

  it('leaves the old token, which may serve until its end', () => {
    const before = leaseWith(tokenOf('token-1'));
    const lease = withFailure(before, failureOf('upstreamUnavailable', 0, 1_000));
    expect(lease).toMatchObject({ token: before.token, renewals: 1, failuresInRow: 1 });
  });

  it('cools down until the instant at which it may be asked again', () => {
    const lease = withFailure(emptyLease, failureOf('scopeRejected', 0, minute));
    expect(isCoolingDown(lease, start)).toBe(true);
    expect(isCoolingDown(lease, start + minute - 1)).toBe(true);
    expect(isCoolingDown(lease, start + minute)).toBe(false);
    expect(isCoolingDown(emptyLease, start)).toBe(false);
  });

  it('is forgotten with the next token', () => {
    const failed = withFailure(emptyLease, failureOf('scopeRejected', 0, minute));
    const lease = withToken(failed, tokenOf('token-1'), start + minute);
    expect(lease).toMatchObject({ failure: null, failuresInRow: 0, renewals: 1, replacedEarlyAt: null });
  });

  it.each(['credentialsRejected', 'scopeRejected', 'grantRejected'] as const)(
    'that was refused (%s) cools down for a minute, however often',
    (code) => {
      for (const failuresInRow of [0, 1, 20]) {
        const failure = toTokenFailure(
          { ...trouble('credentialsRejected', 5), code },
          { ...emptyLease, failuresInRow },
          start,
        );
        expect(Date.parse(failure.retryAt) - start).toBe(tokenCoolDownMs);
        expect(failure).toMatchObject({ code, message: 'm', at: '2031-05-01T10:00:00.000Z' });
      }
    },
  );

  it('that found no service is repeated after 1, 2, 4 s and so on, up to a minute', () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 5_000].map((failuresInRow) => pauseOf({ ...emptyLease, failuresInRow }));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  });

  it('that was told to wait is repeated exactly then', () => {
    expect(pauseOf({ ...emptyLease, failuresInRow: 9 }, 7_000)).toBe(7_000);
    expect(pauseOf(emptyLease, 2 * hour)).toBe(2 * hour);
  });
});

describe('a token that was rejected before its time', () => {
  const first = leaseWith(tokenOf('token-1'));
  const second = withToken(first, tokenOf('token-2', { at: 10 * minute }), start + 10 * minute);

  it('is replaced at once', () => {
    expect(isRejectedAfresh(first, start + 5)).toBe(false);
    expect(second.replacedEarlyAt).toBe('2031-05-01T10:10:00.000Z');
  });

  it('in place of a rejected one within a minute means that a new one will not help', () => {
    expect(isRejectedAfresh(second, start + 10 * minute)).toBe(true);
    expect(isRejectedAfresh(second, start + 11 * minute - 1)).toBe(true);
    expect(isRejectedAfresh(second, start + 11 * minute)).toBe(false);
  });

  it('does not stop the normal renewal, however short tokens live', () => {
    const short = { lifetimeMs: 10_000, aheadMs: 2_000 };
    const lease = withToken(leaseWith(tokenOf('a', short)), tokenOf('b', { ...short, at: 1_000 }), start + 1_000);
    expect(isRejectedAfresh(lease, start + 8_999)).toBe(true);
    expect(isRejectedAfresh(lease, start + 9_000)).toBe(false);
  });

  it('is forgotten with the next renewal that comes in time', () => {
    const due = start + 10 * minute + hour - minute;
    const third = withToken(second, tokenOf('token-3', { at: 69 * minute }), due);
    expect(third.replacedEarlyAt).toBeNull();
    expect(isRejectedAfresh(third, due)).toBe(false);
  });
});

describe('a lease without demand', () => {
  it('ends after two lifetimes of its token, and not within two minutes', () => {
    expect(idleMs(leaseWith(tokenOf('token-1')))).toBe(2 * hour);
    expect(idleMs(leaseWith(tokenOf('token-1', { lifetimeMs: 5_000 })))).toBe(2 * minute);
    expect(idleMs(emptyLease)).toBe(2 * minute);
  });
});
