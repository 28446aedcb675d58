import { describe, expect, it } from 'vitest';
import { iso } from '../../src/domain/instant.js';
import {
  describeLease,
  emptyLease,
  forgottenAfterMs,
  idleMs,
  isAboutCurrent,
  refusalOf,
  renewAheadMs,
  renewalReason,
  type TokenFailure,
  type TokenLease,
  withToken,
  withTrouble,
} from '../../src/domain/token-lease.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.parse('2031-05-01T10:00:00.000Z');

/** The lease after it obtained this token so many milliseconds after the start, at once. */
function renewed(lease: TokenLease, id: string, at: number, lifetimeMs: number): TokenLease {
  const renewAfterMs = lifetimeMs - renewAheadMs(lifetimeMs, minute);
  const token = { id, sealed: `sealed ${id}`, ageMs: 0, renewAfterMs, lifetimeMs };
  return withToken(lease, token, start + at);
}

/** The lease of a fleet that obtained its first token at the start. */
const leaseWith = (id: string, lifetimeMs = hour): TokenLease => renewed(emptyLease, id, 0, lifetimeMs);

const refused = { code: 'scopeRejected', message: 'Not granted.', retryAfterMs: null } as const;

it.each([
  [3_600_000, 60_000, 60_000],
  [300_000, 60_000, 60_000],
  [299_000, 60_000, 59_800],
  [1_000, 60_000, 200],
  [3_600_000, 5_000, 5_000],
])(
  'a token that lives %d ms, with %d ms wished for, is renewed %d ms ahead of its end',
  (lifetimeMs, earlyMs, aheadMs) => {
    expect(renewAheadMs(lifetimeMs, earlyMs)).toBe(aheadMs);
  },
);

it('the lifetime of a token counts from the sending of its request, by the clock of the lease', () => {
  const times = { ageMs: 2_000, renewAfterMs: 80_000, lifetimeMs: 100_000 };
  const { token } = withToken(emptyLease, { id: 'a', sealed: 's', ...times }, start + 2_000);
  const instants = { requestedAt: iso(start), renewAt: iso(start + 80_000), expiresAt: iso(start + 100_000) };
  expect(token).toEqual({ id: 'a', sealed: 's', ...instants });
});

describe('a failed token request', () => {
  const pauseOf = (code: TokenFailure['code'], failuresInRow: number, retryAfterMs: number | null): number => {
    const lease = withTrouble({ ...emptyLease, failuresInRow }, { code, message: 'm', retryAfterMs }, start);
    expect(lease).toMatchObject({ failure: { code, message: 'm', at: iso(start) }, failuresInRow: failuresInRow + 1 });
    return Date.parse(lease.failure?.retryAt ?? '') - start;
  };

  it('leaves the old token, which may serve until its end, and is forgotten with the next one', () => {
    const before = leaseWith('token-1');
    const failed = withTrouble(before, refused, start + hour);
    expect(failed).toMatchObject({ token: before.token, renewals: 1, failuresInRow: 1 });
    const after = renewed(failed, 'token-2', hour + minute, hour);
    expect(after).toMatchObject({ failure: null, failuresInRow: 0, renewals: 2, pacedUntil: null });
  });

  it.each(['credentialsRejected', 'scopeRejected', 'grantRejected'] as const)(
    'that was refused (%s) cools down for a minute, however often',
    (code) => {
      for (const failuresInRow of [0, 1, 20]) expect(pauseOf(code, failuresInRow, 5)).toBe(minute);
    },
  );

  it('that found no service is repeated after 1, 2, 4 s and so on, up to a minute', () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 5_000].map((failures) => pauseOf('upstreamUnavailable', failures, null));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * second));
  });

  it.each([
    [7_000, 0, 7_000],
    [1_000, 9, 60_000],
    [24 * hour, 0, 10 * minute],
    [0, 0, 1_000],
  ])(
    'with a wished pause of %d ms after %d others is repeated after %d ms: its own pause or ten minutes bound it',
    (wishMs, failures, pauseMs) => {
      expect(pauseOf('upstreamUnavailable', failures, wishMs)).toBe(pauseMs);
    },
  );
});

it('a lease without demand ends after two lifetimes of its token, and not within two minutes', () => {
  expect(idleMs(leaseWith('token-1'))).toBe(2 * hour);
  expect(idleMs(leaseWith('token-1', 5_000))).toBe(2 * minute);
  expect(idleMs(emptyLease)).toBe(2 * minute);
});

it.each([
  ['before there was a token', emptyLease, 0, 'first'],
  ['while it should serve', leaseWith('a'), 58 * minute, 'rejected'],
  ['shortly before its end', leaseWith('a'), 59 * minute, 'ahead'],
  ['while it can still be sent', leaseWith('a'), 60 * minute - 1, 'ahead'],
  ['after its end', leaseWith('a'), 60 * minute, 'expired'],
])('the reason of a renewal %s follows from the time', (_, lease, after, reason) => {
  expect(renewalReason(lease, start + after)).toBe(reason);
});

describe('the lease in the Temporal UI', () => {
  it('shows times and the id of the token, never the sealed token', () => {
    const markdown = describeLease(leaseWith('token-1')).replaceAll('\u00a0', '');
    const rows = [
      ...['|  |  |', '|---|---|', '| token | token-1 |', '| obtained | 2031-05-01T10:00:00.000Z |'],
      ...['| renewed from | 2031-05-01T10:59:00.000Z |', '| expires | 2031-05-01T11:00:00.000Z |'],
    ];
    expect(markdown).toBe([...rows, '| tokens so far | 1 |'].join('\n'));
  });

  it('shows that there is no token, why, and when the lease asks again', () => {
    expect(describeLease(emptyLease)).toMatch(/none yet \|\n\| obtained\s+\| - \|\n.* \| - \|\n.* \| - \|\n/);
    expect(describeLease(withTrouble(emptyLease, refused, start))).toMatch(
      /^\*\*Attention: scopeRejected\*\* since 2031-05-01 10:00:00 UTC: Not granted.\n\nAsked again from 2031-05-01 10:01:00 UTC\.\n\n\|/,
    );
  });
});

describe('a request for another token', () => {
  it('is heard if it names the current token, or if there is none', () => {
    const lease = leaseWith('token-2');
    const heard = ['token-2', 'token-1', null].map((insteadOf) => isAboutCurrent(lease, { insteadOf }));
    expect(heard).toEqual([true, false, false]);
    expect(isAboutCurrent(emptyLease, { insteadOf: null })).toBe(true);
    expect(isAboutCurrent(emptyLease, { insteadOf: 'token-of-an-earlier-run' })).toBe(true);
  });

  const garbage = [undefined, null, 5, 'x', [], {}, { insteadOf: 5 }, { insteadOf: ['a'] }];
  it.each(garbage)('is not heard in %j', (value) => {
    expect(isAboutCurrent(emptyLease, value)).toBe(false);
  });

  it('waits for the cool-down of a failed request, and is told of that failure', () => {
    const failed = withTrouble(leaseWith('token-1'), refused, start + 59 * minute);
    expect(refusalOf(failed, start + hour - 1)).toBe(failed.failure);
    expect(refusalOf(failed, start + hour)).toBeNull();
  });
});

describe('a token that is rejected before its end', () => {
  it('that may not be replaced yet is a failure that says until when, and what to check', () => {
    let lease = leaseWith('token-1');
    for (const [id, at] of [['token-2', 0] as const, ['token-3', second] as const])
      lease = renewed(lease, id, at, hour);
    const refusal = refusalOf(lease, start + 2 * second);
    expect(refusal).toMatchObject({ code: 'credentialsRejected', at: iso(start + 2 * second), isPaced: true });
    expect(refusal).toMatchObject({ retryAt: iso(start + 30 * second), message: expect.stringContaining('token URL') });
    expect(forgottenAfterMs({ ...lease, failure: refusal }, start + 2 * second)).toBe(43 * second);
  });

  it('delays no renewal ahead of the end', () => {
    let lease = renewed(leaseWith('a', 20 * second), 'b', second, 20 * second);
    lease = renewed(lease, 'c', 2 * second, 20 * second);
    expect(refusalOf(lease, start + 3 * second)?.retryAt).toBe(iso(start + 18 * second));
    expect(refusalOf(lease, start + 18 * second)).toBeNull();
  });
});
