import type { AttentionCode } from './attention.js';

/** A token as it crosses Temporal: sealed. Instants are ISO 8601 UTC. */
export interface SealedToken {
  /** Names the token without telling anything of it; made when it was obtained. */
  id: string;
  /** Compact JWE of the access token. */
  sealed: string;
  /** When the request was sent: the lifetime counts from here. */
  requestedAt: string;
  /** From here on it is renewed ahead of its end, while it still serves. */
  renewAt: string;
  expiresAt: string;
  grantedScope: string | null;
}

/** Why there is no (new) token, and when it makes sense to ask again. */
export interface TokenFailure {
  code: Extract<AttentionCode, 'credentialsRejected' | 'scopeRejected' | 'grantRejected' | 'upstreamUnavailable'>;
  message: string;
  at: string;
  retryAt: string;
}

/** All that the fleet shares about one token: the memo of its `accessToken` run. */
export interface TokenLease {
  token: SealedToken | null;
  failure: TokenFailure | null;
  /** Tokens obtained so far. */
  renewals: number;
  /** Failures since the last success; the back-off grows with it. */
  failuresInRow: number;
  /** When a token was last replaced before its time, because the service rejected it. */
  replacedEarlyAt: string | null;
}

export const emptyLease: TokenLease = {
  token: null,
  failure: null,
  renewals: 0,
  failuresInRow: 0,
  replacedEarlyAt: null,
};

/** Refused credentials are asked again no sooner than this, and a token that replaced a rejected one is kept this long. */
export const tokenCoolDownMs = 60_000;

const lifetimeShareAhead = 5;

/** How long before its end a token is renewed: `earlyMs`, or a fifth of a short lifetime (upstream section 3.2). */
export const renewAheadMs = (lifetimeMs: number, earlyMs: number): number =>
  Math.min(earlyMs, lifetimeMs / lifetimeShareAhead);

const isAfter = (instant: string, now: number): boolean => Date.parse(instant) > now;

/** May the token still be sent? */
export const isUsable = (token: SealedToken, now: number): boolean => isAfter(token.expiresAt, now);

/** Does a recent failure forbid to ask again yet? */
export const isCoolingDown = (lease: TokenLease, now: number): boolean =>
  lease.failure !== null && isAfter(lease.failure.retryAt, now);

/** The compare of the compare-and-swap: is the token that the caller wants replaced still the current one? */
export const isCurrent = (lease: TokenLease, insteadOf: string | null): boolean =>
  lease.token === null || lease.token.id === insteadOf;

/** Was the current token put in place of a rejected one just now, and is rejected again? Then a new one will not help. */
export function isRejectedAfresh(lease: TokenLease, now: number): boolean {
  const early = lease.token !== null && isAfter(lease.token.renewAt, now);
  return early && lease.replacedEarlyAt !== null && Date.parse(lease.replacedEarlyAt) + tokenCoolDownMs > now;
}

/** The lease after a token was obtained. */
export function withToken(lease: TokenLease, token: SealedToken, now: number): TokenLease {
  const early = lease.token !== null && isAfter(lease.token.renewAt, now);
  return {
    token,
    failure: null,
    renewals: lease.renewals + 1,
    failuresInRow: 0,
    replacedEarlyAt: early ? new Date(now).toISOString() : null,
  };
}

/** The lease after a failed request. An old token stays: it may serve until its end. */
export const withFailure = (lease: TokenLease, failure: TokenFailure): TokenLease => ({
  ...lease,
  failure,
  failuresInRow: lease.failuresInRow + 1,
});

const firstBackOffMs = 1_000;

/** Makes the failure that is published. Refusals cool down; an unreachable service is asked again with growing pauses. */
export function toTokenFailure(
  { code, message, retryAfterMs }: { code: TokenFailure['code']; message: string; retryAfterMs: number | null },
  lease: TokenLease,
  now: number,
): TokenFailure {
  const backOffMs = Math.min(firstBackOffMs * 2 ** lease.failuresInRow, tokenCoolDownMs);
  const waitMs = code === 'upstreamUnavailable' ? (retryAfterMs ?? backOffMs) : tokenCoolDownMs;
  return { code, message, at: new Date(now).toISOString(), retryAt: new Date(now + waitMs).toISOString() };
}

/** Why a token is asked for. Callers ask with one message for all reasons; the time tells them apart. */
export function renewalReason({ token }: TokenLease, now: number): 'first' | 'expired' | 'ahead' | 'rejected' {
  if (token === null) return 'first';
  if (!isUsable(token, now)) return 'expired';
  return isAfter(token.renewAt, now) ? 'rejected' : 'ahead';
}

/** How long a lease waits for demand before its run ends: two lifetimes of the token. */
export function idleMs({ token }: TokenLease): number {
  const lifetimeMs = token === null ? 0 : Date.parse(token.expiresAt) - Date.parse(token.requestedAt);
  return 2 * Math.max(lifetimeMs, tokenCoolDownMs);
}
