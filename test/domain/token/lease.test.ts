import { describe, expect, it } from 'vitest';
import { iso } from '../../../src/domain/instant.js';
import {
  describeLease,
  emptyLease,
  idleMs,
  judgeWishes,
  onLeaseClock,
  type RenewalCause,
  type RenewalVerdict,
  type RenewalWish,
  renewAheadMs,
  renewalReason,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
  tokenCoolDownMs,
  toTokenFailure,
  withFailure,
  withToken,
} from '../../../src/domain/token/lease.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.parse('2031-05-01T10:00:00.000Z');

/** A token requested so many milliseconds after the start, and renewed as long before its end as the settings want by default. */
const tokenOf = (id: string, { at = 0, lifetimeMs = hour } = {}): SealedToken => ({
  id,
  sealed: `sealed ${id}`,
  requestedAt: iso(start + at),
  renewAt: iso(start + at + lifetimeMs - renewAheadMs(lifetimeMs, minute)),
  expiresAt: iso(start + at + lifetimeMs),
  grantedScope: null,
});

/** The lease of a fleet that obtained this token first. */
const leaseWith = (token: SealedToken): TokenLease => withToken(emptyLease, token, Date.parse(token.requestedAt));

const failureOf = (code: TokenFailure['code'], coolDownMs = minute): TokenFailure => ({
  code,
  message: `${code} it is`,
  at: iso(start),
  retryAt: iso(start + coolDownMs),
});

it.each([
  [3_600_000, 60_000, 60_000],
  [899_000, 60_000, 60_000],
  [300_000, 60_000, 60_000],
  [299_000, 60_000, 59_800],
  [60_000, 60_000, 12_000],
  [1_000, 60_000, 200],
  [3_600_000, 5_000, 5_000],
])(
  'a token that lives %d ms, with %d ms wished for, is renewed %d ms ahead of its end',
  (lifetimeMs, earlyMs, aheadMs) => {
    expect(renewAheadMs(lifetimeMs, earlyMs)).toBe(aheadMs);
  },
);

describe('a failed token request', () => {
  const trouble = (code: TokenFailure['code'], retryAfterMs: number | null) => ({ code, message: 'm', retryAfterMs });
  const pauseOf = (lease: TokenLease, retryAfterMs: number | null = null): number =>
    Date.parse(toTokenFailure(trouble('upstreamUnavailable', retryAfterMs), lease, start).retryAt) - start;

  it('leaves the old token, which may serve until its end', () => {
    const before = leaseWith(tokenOf('token-1'));
    const lease = withFailure(before, failureOf('upstreamUnavailable', 1_000));
    expect(lease).toMatchObject({ token: before.token, renewals: 1, failuresInRow: 1 });
  });

  it('is forgotten with the next token', () => {
    const failed = withFailure(emptyLease, failureOf('scopeRejected'));
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
    'with a wished pause of %d ms after %d others is repeated after %d ms: its own pause or ten minutes bound it',
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
  ['while it can still be sent', leaseWith(tokenOf('a')), 60 * minute - 1, 'ahead'],
  ['after its end', leaseWith(tokenOf('a')), 60 * minute, 'expired'],
])('the reason of a renewal %s follows from the time', (_, lease, after, reason) => {
  expect(renewalReason(lease, start + after)).toBe(reason);
});

describe('the lease in the Temporal UI', () => {
  it('shows times and the id of the token, never the sealed token', () => {
    const markdown = describeLease(leaseWith(tokenOf('token-1')));
    expect(markdown).toContain('| token | token-1 |');
    expect(markdown).toContain('| expires | 2031-05-01T11:00:00.000Z |');
    expect(markdown).toContain('| tokens so far | 1 |');
    expect(markdown).not.toContain('sealed');
  });

  it('shows that there is no token, why, and when the lease asks again', () => {
    expect(describeLease(emptyLease)).toContain('| token | none yet |');
    const failure = { ...failureOf('credentialsRejected'), message: 'Check client id.' };
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

const wish = (
  insteadOf: string | null,
  cause: RenewalCause = 'rejected',
  operation: string | null = 'readOrder',
  hasServed = false,
): RenewalWish => ({ insteadOf, cause, operation, hasServed });

/** A lease at work: each wish is answered at once, and each request leads to a token whose lifetime is believed to be this. */
function leaseAtWork(lifetimeMs = 300 * second) {
  let lease: TokenLease = leaseWith(tokenOf('token-1', { lifetimeMs }));
  const requests: number[] = [];
  return {
    requests,
    failure: () => lease.failure,
    ask(at: number, ...about: [RenewalCause, (string | null)?, boolean?]): RenewalVerdict['act'] {
      const verdict = judgeWishes(lease, [wish(lease.token?.id ?? null, ...about)], start + at);
      if (verdict.act === 'fail') lease = { ...lease, failure: verdict.failure };
      if (verdict.act === 'request') {
        requests.push(at);
        const token = tokenOf(`token-${lease.renewals + 1}`, { at, lifetimeMs });
        lease = withToken(lease, token, start + at);
      }
      return verdict.act;
    },
  };
}

describe('wishes for another token', () => {
  const lease = leaseWith(tokenOf('token-2'));
  const actOf = (of: TokenLease, at: number, ...wishes: RenewalWish[]) => judgeWishes(of, wishes, start + at).act;

  it('are ignored when they are about a token of the past', () => {
    expect(actOf(lease, 0, wish('token-1'), wish(null), wish('token-1', 'rejectedAfresh'))).toBe('ignore');
  });

  it('lead to a request while there is no token, when it is due, and when it was rejected', () => {
    expect(actOf(emptyLease, 0, wish(null, 'due', null))).toBe('request');
    expect(actOf(emptyLease, 0, wish('token-of-an-earlier-run'))).toBe('request');
    expect(actOf(lease, 59 * minute, wish('token-2', 'due', null))).toBe('request');
    expect(actOf(lease, 0, wish('token-2'))).toBe('request');
  });

  it('are answered that the token is still good when the clock of the worker goes ahead', () => {
    expect(actOf(lease, 59 * minute - 1, wish('token-2', 'due', null))).toBe('confirm');
  });

  it('wait for the cool-down of a failed request', () => {
    const failed = withFailure(lease, failureOf('upstreamUnavailable', 5 * second));
    expect(actOf(failed, 5 * second - 1, wish('token-2'), wish('token-2', 'due'))).toBe('confirm');
    expect(actOf(failed, 5 * second, wish('token-2'))).toBe('request');
  });
});

describe('tokens that end long before the time that is believed', () => {
  // A caller need not name its operation.
  it.each([...[10, 15, 20, 60].map((lifetimeS) => [lifetimeS, 'readOrder'] as const), [20, null]] as const)(
    'after %d s cost one request for each real lifetime, without a pause, by %s',
    (lifetimeS, operation) => {
      const { ask, requests } = leaseAtWork();
      for (let at = lifetimeS; at <= 600; at += lifetimeS)
        expect(ask(at * second, 'rejected', operation)).toBe('request');
      expect(requests).toHaveLength(Math.floor(600 / lifetimeS));
    },
  );

  it('twice in a moment are replaced twice', () => {
    const { ask } = leaseAtWork();
    expect([ask(minute, 'rejected'), ask(minute + 1, 'rejected')]).toEqual(['request', 'request']);
  });
});

describe('an operation that is rejected whatever the token', () => {
  it('costs one token a minute, and the failure says why it waits', () => {
    const { ask, requests, failure } = leaseAtWork(3_600 * second);
    for (let at = 0; at < 600 * second; at += 3 * second) {
      if (ask(at, 'rejected') === 'request') expect(ask(at + 50, 'rejectedAfresh')).toBe('fail');
    }
    expect(requests.length).toBeLessThanOrEqual(10);
    expect(failure()).toMatchObject({ code: 'credentialsRejected', operations: ['readOrder'] });
    expect(failure()?.message).toContain('tokens that it has just issued (readOrder)');
  });

  it('keeps no other one from a token, neither when it is due nor when it ended early', () => {
    const { ask, requests } = leaseAtWork();
    let cancels = 0;
    for (let at = 20 * second; at <= 600 * second; at += second) {
      if (at % (20 * second) === 0) expect(ask(at, 'rejected', 'readOrder')).toBe('request');
      else if (ask(at, 'rejected', 'cancelOrder') === 'request') {
        cancels += 1;
        ask(at + 50, 'rejectedAfresh', 'cancelOrder');
      }
    }
    expect(requests.length).toBe(30 + cancels);
    expect(cancels).toBeLessThanOrEqual(10);
  });

  it('does not delay the renewal ahead of the end', () => {
    const { ask } = leaseAtWork(100 * second);
    ask(40 * second, 'rejectedAfresh');
    expect(ask(79 * second, 'due', null)).toBe('confirm');
    expect(ask(80 * second, 'due', null)).toBe('request');
    expect(ask(81 * second, 'rejected')).toBe('confirm'); // it waits on, with the new token too
    expect(ask(100 * second, 'rejected')).toBe('request');
  });

  it('is believed when this token has served calls of it', () => {
    const { ask } = leaseAtWork();
    ask(0, 'rejectedAfresh');
    expect(ask(20 * second, 'rejected', 'readOrder', false)).toBe('confirm');
    expect(ask(20 * second, 'rejected', 'readOrder', true)).toBe('request');
    expect(ask(21 * second, 'rejected', 'readOrder', false)).toBe('confirm');
  });

  it('is one of several: each waits, and one that names no operation waits with them', () => {
    const { ask, failure } = leaseAtWork();
    expect(ask(0, 'rejectedAfresh', 'readOrder')).toBe('fail');
    expect(ask(0, 'rejected', 'readReceipt')).toBe('request');
    expect(ask(1, 'rejectedAfresh', 'readReceipt')).toBe('fail');
    expect(failure()?.operations).toEqual(['readOrder', 'readReceipt']);
    expect(ask(2, 'rejected', 'readOrder')).toBe('confirm');
    expect(ask(2, 'rejected', null)).toBe('confirm');
  });
});

describe('a service that rejects some calls by chance', () => {
  it('costs three tokens at once, then one in ten seconds', () => {
    const { ask, requests } = leaseAtWork(3_600 * second);
    for (let at = 0; at < 120 * second; at += 500) ask(at, 'rejected');
    expect(requests.length).toBeLessThanOrEqual(3 + 12);
    expect(requests.slice(0, 3)).toEqual([0, 500, 1_000]);
  });
});
