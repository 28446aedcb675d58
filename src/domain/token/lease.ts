import { iso, PublishedInstantSchema } from '../instant.js';
import { cell } from '../markdown.js';
import * as s from '../schema.js';

/** A text of whatever length, but not empty. */
const filled = s.matching(/[\s\S]/, 'must be a text');
/** What cannot be read is null: it is of less weight than the rest. */
const orNull = (schema: s.Schema<string>): s.Schema<string | null> => ({
  ...s.nullable(schema),
  read: (value, at) => {
    try {
      return schema.read(value, at);
    } catch {
      return null;
    }
  },
});

/** A token as it crosses Temporal: sealed. Instants are ISO 8601 UTC. */
const SealedTokenSchema = s.answerOf({
  // Names the token without telling anything of it; made when it was obtained.
  id: filled,
  // Compact JWE of the access token.
  sealed: filled,
  // When the request was sent: the lifetime counts from here.
  requestedAt: PublishedInstantSchema,
  // From here on it is renewed ahead of its end, while it still serves.
  renewAt: PublishedInstantSchema,
  expiresAt: PublishedInstantSchema,
  grantedScope: orNull(filled),
});
/** A token as it crosses Temporal: sealed. */
export type SealedToken = s.Read<typeof SealedTokenSchema>;

/** A token as the worker that requested it hands it over: its instants are by the clock of that worker. */
export interface RequestedToken extends SealedToken {
  /** How long ago the request was sent, by the same clock. A worker of an earlier release does not say. */
  ageMs?: number;
}

/** Why there is no (new) token, and when it makes sense to ask again. */
const TokenFailureSchema = s.answerOf({
  code: s.wordOf(['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable']),
  message: s.answered(),
  at: PublishedInstantSchema,
  retryAt: PublishedInstantSchema,
  // Operations that the service answers with 401 whatever the token: these wait, all others go on. Absent: all wait.
  operations: s.absentOr(s.listOf(filled)),
});
/** Why there is no (new) token. */
export type TokenFailure = s.Read<typeof TokenFailureSchema>;

const amount = s.wholeNumber(0);
/**
 * All that the fleet shares about one token: the memo of its `accessToken` run. Its instants are by the clock of the Temporal
 * server, since those of the workers differ.
 */
const TokenLeaseSchema = s.answerOf({
  token: s.nullable(SealedTokenSchema),
  failure: s.nullable(TokenFailureSchema),
  // Tokens obtained so far.
  renewals: amount,
  // Failures since the last success; the back-off grows with it.
  failuresInRow: amount,
  // Each token that is replaced before its time moves this instant on; see `pacedAgainAt`.
  pacedUntil: orNull(PublishedInstantSchema),
  // When the run published this: each publication is the answer to the wishes before it.
  publishedAt: orNull(PublishedInstantSchema),
});
/** All that the fleet shares about one token. */
export type TokenLease = s.Read<typeof TokenLeaseSchema>;

/** Reads a lease as published in a memo; undefined for what is none: whoever may start workflows may take the id of a lease. */
export function readTokenLease(value: unknown): TokenLease | undefined {
  try {
    return TokenLeaseSchema.read(value, 'lease');
  } catch {
    return undefined;
  }
}

export const emptyLease: TokenLease = {
  token: null,
  failure: null,
  renewals: 0,
  failuresInRow: 0,
  pacedUntil: null,
  publishedAt: null,
};

/**
 * Why a caller asks for another token. `due`: its time has come, by the clock of the caller. `rejected`: the service answered
 * 401. `rejectedAfresh`: it answered 401 also to the token that was requested for that reason.
 */
export const renewalCauses = ['due', 'rejected', 'rejectedAfresh'] as const;
export type RenewalCause = (typeof renewalCauses)[number];

/** What a caller asks of a lease. */
export interface RenewalWish {
  /** Id of the token that another one is wanted for; null: the caller knows of none. */
  insteadOf: string | null;
  cause: RenewalCause;
  /** Of the call that was answered with 401; null when there was none, or the caller does not say. */
  operation: string | null;
  /** The token has served calls of this operation before. */
  hasServed: boolean;
}

/** Refused credentials are asked again no sooner than this, nor is a token replaced for an operation that rejects every one. */
export const tokenCoolDownMs = 60_000;

/** The longest wait before the next try, whatever the service, or the writer of a memo, asks for. */
export const longestWaitMs = 600_000;

const lifetimeShareAhead = 5;

/** How long before its end a token is renewed: `earlyMs`, or a fifth of a short lifetime. */
export const renewAheadMs = (lifetimeMs: number, earlyMs: number): number =>
  Math.min(earlyMs, lifetimeMs / lifetimeShareAhead);

const isAfter = (instant: string, now: number): boolean => Date.parse(instant) > now;

/** May the token still be sent? */
export const isUsable = (token: SealedToken, now: number): boolean => isAfter(token.expiresAt, now);

/** Is it time to renew the token? */
export const isDue = (token: SealedToken, now: number): boolean => !isAfter(token.renewAt, now);

/** Does the failure keep a caller waiting? `rejected`: its call that was answered with 401, if any. */
export const isAbout = (
  { operations }: TokenFailure,
  rejected: { operation: string; hasServed: boolean } | undefined,
): boolean =>
  operations === undefined ||
  (rejected !== undefined && !rejected.hasServed && operations.includes(rejected.operation));

/** Is it too early to try again after this failure? */
export const isCoolingDown = ({ retryAt }: TokenFailure, now: number): boolean => isAfter(retryAt, now);

/** The compare of the compare-and-swap: is the token that the caller wants replaced still the current one? */
export const isCurrent = (lease: TokenLease, insteadOf: string | null): boolean =>
  lease.token === null || lease.token.id === insteadOf;

/** What a lease does about wishes: nothing, since they are about a token of the past; say that the token stands; request one; or fail. */
export type RenewalVerdict = { act: 'ignore' | 'confirm' | 'request' } | { act: 'fail'; failure: TokenFailure };

/**
 * A token is replaced when it is due, or rejected: the service may end it at any time, and may not say how long it lives. A
 * rejection that is about the call, and no matter of the token, costs a token a minute.
 */
export function judgeWishes(lease: TokenLease, wishes: readonly RenewalWish[], now: number): RenewalVerdict {
  const current = wishes.filter(({ insteadOf }) => isCurrent(lease, insteadOf));
  if (current.length === 0) return { act: 'ignore' };
  const failure = lease.failure && isCoolingDown(lease.failure, now) ? lease.failure : null;
  if (failure && failure.operations === undefined) return { act: 'confirm' };
  if (lease.token === null || isDue(lease.token, now)) return { act: 'request' };
  // A caller that does not name its operation waits for all that wait.
  const waits = ({ operation, hasServed }: RenewalWish) =>
    failure !== null && (operation === null || isAbout(failure, { operation, hasServed }));
  const early = current.filter((wish) => wish.cause !== 'due' && !waits(wish));
  const afresh = early.filter(({ cause }) => cause === 'rejectedAfresh');
  if (afresh.length > 0) return { act: 'fail', failure: rejected(afresh, failure, now) };
  return { act: early.length === 0 || pacedAgainAt(lease) > now ? 'confirm' : 'request' };
}

/** The operations of these wishes wait, beside those that wait already. */
function rejected(wishes: readonly RenewalWish[], before: TokenFailure | null, now: number): TokenFailure {
  const named = wishes.flatMap(({ operation }) => (operation === null ? [] : [operation]));
  const operations = [...new Set([...(before?.operations ?? []), ...named])].sort().slice(0, maxOperations);
  const message =
    `The service rejects tokens that it has just issued (${operations.join(', ') || 'operation unknown'}). ` +
    'Check that base URL and token URL belong together, and the paths and scopes of these operations.';
  return { code: 'credentialsRejected', message, at: iso(now), retryAt: iso(now + tokenCoolDownMs), operations };
}

/** More than the service has; a stranger may send any words. */
const maxOperations = 50;

/** Three tokens at once may be replaced before their time, and then one each ten seconds: a short life, but no loop. */
const paceMs = 10_000;
const atOnce = 3;

/** When the next token may be replaced before its time. */
export const pacedAgainAt = ({ pacedUntil }: TokenLease): number =>
  pacedUntil === null ? Number.NEGATIVE_INFINITY : Date.parse(pacedUntil) - (atOnce - 1) * paceMs;

/** Puts the instants of a token on the clock of the lease. */
export function onLeaseClock({ ageMs, ...token }: RequestedToken, now: number): SealedToken {
  const shiftMs = ageMs === undefined ? 0 : now - ageMs - Date.parse(token.requestedAt);
  const shifted = (instant: string): string => iso(Date.parse(instant) + shiftMs);
  return {
    ...token,
    requestedAt: shifted(token.requestedAt),
    renewAt: shifted(token.renewAt),
    expiresAt: shifted(token.expiresAt),
  };
}

/** The lease after a token was obtained. Operations that reject every token go on waiting. */
export function withToken(lease: TokenLease, token: SealedToken, now: number): TokenLease {
  const isEarly = lease.token !== null && !isDue(lease.token, now);
  const { failure, pacedUntil } = lease;
  const stays = failure?.operations !== undefined && isCoolingDown(failure, now);
  return {
    ...lease,
    token,
    failure: stays ? failure : null,
    renewals: lease.renewals + 1,
    failuresInRow: 0,
    pacedUntil: isEarly ? iso(Math.max(now, Date.parse(pacedUntil ?? iso(now))) + paceMs) : pacedUntil,
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
  const askedForMs = Math.min(Math.max(retryAfterMs ?? 0, backOffMs), longestWaitMs);
  const waitMs = code === 'upstreamUnavailable' ? askedForMs : tokenCoolDownMs;
  return { code, message, at: iso(now), retryAt: iso(now + waitMs) };
}

/** Why a token is requested, told by the time. */
export function renewalReason({ token }: TokenLease, now: number): 'first' | 'expired' | 'ahead' | 'rejected' {
  if (token === null) return 'first';
  if (!isUsable(token, now)) return 'expired';
  return isDue(token, now) ? 'ahead' : 'rejected';
}

/** How long a lease waits for demand before its run ends: two lifetimes of the token. */
export function idleMs({ token }: TokenLease): number {
  const lifetimeMs = token === null ? 0 : Date.parse(token.expiresAt) - Date.parse(token.requestedAt);
  return 2 * Math.max(lifetimeMs, tokenCoolDownMs);
}

/** The lease as Markdown for the Temporal UI. Holds times and the reason of a failure, never a token. */
export function describeLease(lease: TokenLease): string {
  const { token, failure, renewals } = lease;
  const rows = [
    ['token', token === null ? 'none yet' : token.id],
    ['obtained', token?.requestedAt ?? '-'],
    ['renewed from', token?.renewAt ?? '-'],
    ['expires', token?.expiresAt ?? '-'],
    ['granted scope', cell(token?.grantedScope ?? '-')],
    ['tokens so far', String(renewals)],
  ];
  const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
  if (failure === null) return table;
  return `**Attention: ${failure.code}** since ${failure.at}: ${failure.message} Asked again from ${failure.retryAt}.\n\n${table}`;
}
