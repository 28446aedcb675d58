import { describe, expect, it } from 'vitest';
import {
  emptyLease,
  judgeWishes,
  type RenewalCause,
  type RenewalVerdict,
  type RenewalWish,
  type TokenLease,
  withFailure,
  withToken,
} from '../../../src/domain/token/lease.js';
import { failureOf, leaseWith, start, tokenOf } from './leases.js';

const second = 1_000;
const minute = 60 * second;

const wish = (
  insteadOf: string | null,
  cause: RenewalCause = 'rejected',
  operation: string | null = 'readOrder',
  hasServed = false,
): RenewalWish => ({ insteadOf, cause, operation, hasServed });

/** A lease at work: each wish is answered at once, and each request leads to a token whose lifetime is believed to be this. */
function leaseAtWork(lifetimeMs = 300 * second) {
  let lease: TokenLease = leaseWith(tokenOf('token-1', { lifetimeMs, aheadMs: lifetimeMs / 5 }));
  const requests: number[] = [];
  return {
    requests,
    failure: () => lease.failure,
    ask(at: number, ...about: [RenewalCause, (string | null)?, boolean?]): RenewalVerdict['act'] {
      const verdict = judgeWishes(lease, [wish(lease.token?.id ?? null, ...about)], start + at);
      if (verdict.act === 'fail') lease = { ...lease, failure: verdict.failure };
      if (verdict.act === 'request') {
        requests.push(at);
        const token = tokenOf(`token-${lease.renewals + 1}`, { at, lifetimeMs, aheadMs: lifetimeMs / 5 });
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
    expect(actOf(lease, 59 * minute, wish('token-2', 'due', null))).toBe('request');
    expect(actOf(lease, 0, wish('token-2'))).toBe('request');
  });

  it('are told that the token stands when their clock goes ahead', () => {
    expect(actOf(lease, 59 * minute - 1, wish('token-2', 'due', null))).toBe('confirm');
  });

  it('wait for the cool-down of a failed request', () => {
    const failed = withFailure(lease, failureOf('upstreamUnavailable', 0, 5 * second));
    expect(actOf(failed, 5 * second - 1, wish('token-2'), wish('token-2', 'due'))).toBe('confirm');
    expect(actOf(failed, 5 * second, wish('token-2'))).toBe('request');
  });
});

describe('tokens that end long before the time that is believed', () => {
  // A wish of an earlier release names no operation.
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
  it('costs one token a minute, and is told why it waits', () => {
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

  it('does not hold up the renewal ahead of the end', () => {
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
