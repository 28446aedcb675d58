import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeLease,
  emptyLease,
  idleMs,
  isCoolingDown,
  isCurrent,
  isUsable,
  onLeaseClock,
  renewAheadMs,
  renewalReason,
  type TokenFailure,
  type TokenLease,
  tokenCoolDownMs,
  toTokenFailure,
  withFailure,
  withToken,
} from '../../../src/domain/token/lease.js';
import { forAny } from '../../support/for-any.js';
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
    forAny(wishes, (insteadOf) => {
      let lease: TokenLease = leaseWith(tokenOf('token-0'));
      for (const wish of insteadOf.filter((id) => id !== 'token-1')) {
        if (isCurrent(lease, wish)) lease = withToken(lease, tokenOf('token-1'), start);
      }
      expect(lease.renewals).toBe(insteadOf.includes('token-0') ? 2 : 1);
    });
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
    forAny(fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 1, max: 3_600_000 }), (lifetimeMs, early) => {
      const aheadMs = renewAheadMs(lifetimeMs, early);
      expect(aheadMs > 0 && aheadMs <= early && aheadMs <= lifetimeMs / 5).toBe(true);
    });
  });
});

describe('a failed token request', () => {
  const trouble = (code: TokenFailure['code'], retryAfterMs: number | null) => ({ code, message: 'm', retryAfterMs });
  const pauseOf = (lease: TokenLease, retryAfterMs: number | null = null): number =>
    Date.parse(toTokenFailure(trouble('upstreamUnavailable', retryAfterMs), lease, start).retryAt) - start;

  it('leaves the old token, which may serve until its end', () => {
    const before = leaseWith(tokenOf('token-1'));
    const lease = withFailure(before, failureOf('upstreamUnavailable', 0, 1_000));
    expect(lease).toMatchObject({ token: before.token, renewals: 1, failuresInRow: 1 });
  });

  it('cools down until the instant at which it may be asked again', () => {
    const failure = failureOf('scopeRejected', 0, minute);
    expect(isCoolingDown(failure, start)).toBe(true);
    expect(isCoolingDown(failure, start + minute - 1)).toBe(true);
    expect(isCoolingDown(failure, start + minute)).toBe(false);
  });

  it('is forgotten with the next token', () => {
    const failed = withFailure(emptyLease, failureOf('scopeRejected', 0, minute));
    const lease = withToken(failed, tokenOf('token-1'), start + minute);
    expect(lease).toMatchObject({ failure: null, failuresInRow: 0, renewals: 1, pacedUntil: null });
  });

  const refusals = ['credentialsRejected', 'scopeRejected', 'grantRejected'] as const;
  it.each(refusals)('that was refused (%s) cools down for a minute, however often', (code) => {
    for (const failuresInRow of [0, 1, 20]) {
      const failure = toTokenFailure(trouble(code, 5), { ...emptyLease, failuresInRow }, start);
      expect(Date.parse(failure.retryAt) - start).toBe(tokenCoolDownMs);
      expect(failure).toMatchObject({ code, message: 'm', at: '2031-05-01T10:00:00.000Z' });
    }
  });

  it('that found no service is repeated after 1, 2, 4 s and so on, up to a minute', () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 7, 5_000].map((failuresInRow) => pauseOf({ ...emptyLease, failuresInRow }));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  });

  it.each([
    [7_000, 0, 7_000],
    [1_000, 9, 60_000],
    [10 * minute, 0, 10 * minute],
    [24 * hour, 0, 10 * minute],
    [0, 0, 1_000],
  ])(
    'told to wait %d ms after %d others is repeated after %d ms: its own pause or ten minutes bound it',
    (wish, failuresInRow, pause) => {
      expect(pauseOf({ ...emptyLease, failuresInRow }, wish)).toBe(pause);
    },
  );
});

describe('the instants of a token', () => {
  it.each([-600_000, 0, 3_000])('are by the clock of the lease, were that of the worker %d ms ahead', (aheadMs) => {
    const { requestedAt, renewAt, expiresAt } = tokenOf('token-1', { at: aheadMs });
    const token = { ...tokenOf('token-1'), requestedAt, renewAt, expiresAt, ageMs: 200 };
    expect(onLeaseClock(token, start + 200)).toEqual(tokenOf('token-1'));
  });

  it('stay as they are when a worker does not tell the age', () => {
    expect(onLeaseClock(tokenOf('token-1'), start + minute)).toEqual(tokenOf('token-1'));
  });
});

it('a lease without demand ends after two lifetimes of its token, and not within two minutes', () => {
  expect(idleMs(leaseWith(tokenOf('token-1')))).toBe(2 * hour);
  expect(idleMs(leaseWith(tokenOf('token-1', { lifetimeMs: 5_000 })))).toBe(2 * minute);
  expect(idleMs(emptyLease)).toBe(2 * minute);
});

it.each([
  ['before there was a token', emptyLease, 0, 'first'],
  ['while it should serve', leaseWith(tokenOf('a')), 58 * minute, 'rejected'],
  ['shortly before its end', leaseWith(tokenOf('a')), 59 * minute, 'ahead'],
  ['after its end', leaseWith(tokenOf('a')), 60 * minute, 'expired'],
])('the reason of a renewal %s is told by the time', (_, lease, after, reason) => {
  expect(renewalReason(lease, start + after)).toBe(reason);
});

describe('the lease in the Temporal UI', () => {
  it('says that there is no token yet', () => {
    expect(describeLease(emptyLease)).toContain('| token | none yet |');
  });

  it('shows times and the id of the token, never the sealed token', () => {
    const markdown = describeLease(leaseWith(tokenOf('token-1')));
    expect(markdown).toContain('| token | token-1 |');
    expect(markdown).toContain('| expires | 2031-05-01T11:00:00.000Z |');
    expect(markdown).toContain('| tokens so far | 1 |');
    expect(markdown).not.toContain('sealed');
  });

  it('shows why there is none and when it is asked again', () => {
    const failure = { ...failureOf('credentialsRejected', 0, minute), message: 'Check client id.' };
    expect(describeLease({ ...emptyLease, failure })).toMatch(
      /^\*\*Attention: credentialsRejected\*\* since 2031-05-01T10:00:00.000Z: Check client id. Asked again from 2031-05-01T10:01:00.000Z\.\n\n\|/,
    );
  });

  // The granted scope comes from the token endpoint and may hold anything.
  it('is not broken by what the service granted', () => {
    const token = { ...tokenOf('token-1'), grantedScope: 'order|<img src=x>' };
    expect(describeLease(leaseWith(token))).not.toContain('<img');
  });
});
