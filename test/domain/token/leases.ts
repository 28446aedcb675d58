import {
  emptyLease,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
  withToken,
} from '../../../src/domain/token/lease.js';

export const start = Date.parse('2031-05-01T10:00:00.000Z');
const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** A token requested so many milliseconds after the start; a lifetime of an hour, renewed a minute ahead by default. */
export const tokenOf = (id: string, { at = 0, lifetimeMs = 3_600_000, aheadMs = 60_000 } = {}): SealedToken => ({
  id,
  sealed: `sealed ${id}`,
  requestedAt: iso(start + at),
  renewAt: iso(start + at + lifetimeMs - aheadMs),
  expiresAt: iso(start + at + lifetimeMs),
  grantedScope: null,
});

/** The lease of a fleet that obtained this token first. */
export const leaseWith = (token: SealedToken): TokenLease =>
  withToken(emptyLease, token, Date.parse(token.requestedAt));

export const failureOf = (code: TokenFailure['code'], at: number, retryAt: number): TokenFailure => ({
  code,
  message: `${code} it is`,
  at: iso(start + at),
  retryAt: iso(start + retryAt),
});
