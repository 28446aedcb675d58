import { iso, PublishedInstantSchema } from '../instant.js';
import { cell } from '../markdown.js';
import * as s from '../schema.js';

/** A text of whatever length, but not empty. */
const filled = s.matching(/[\s\S]/, 'must be a text');
/** Reads an unreadable value as null, for less important fields. */
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

const SealedTokenSchema = s.answerOf({
  // A random name of the token.
  id: filled,
  // Compact JWE of the access token.
  sealed: filled,
  // When the request was sent: the lifetime counts from here.
  requestedAt: PublishedInstantSchema,
  // From this instant on the fleet renews it, while it is still usable.
  renewAt: PublishedInstantSchema,
  expiresAt: PublishedInstantSchema,
  grantedScope: orNull(filled),
});
/** A sealed token, as Temporal stores it. Instants are ISO 8601 UTC. */
export type SealedToken = s.Read<typeof SealedTokenSchema>;

/** A new token, with instants by the clock of the worker that requested it. */
export interface RequestedToken extends SealedToken {
  /** The age of the request, by the same clock. */
  ageMs: number;
}

const TokenFailureSchema = s.answerOf({
  code: s.wordOf(['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable']),
  message: s.answered(),
  at: PublishedInstantSchema,
  retryAt: PublishedInstantSchema,
  // Operations that the service answers with 401 whatever the token: these wait, all others go on. Absent: all wait.
  operations: s.absentOr(s.listOf(filled)),
});
/** Why there is no (new) token, and when to try again. */
export type TokenFailure = s.Read<typeof TokenFailureSchema>;

const amount = s.wholeNumber(0);
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
/** What the fleet shares about one token: the memo of its `accessToken` run. Instants are by the clock of the Temporal server. */
export type TokenLease = s.Read<typeof TokenLeaseSchema>;

/** Reads a lease in a memo; undefined for anything else, since any program may start a run with the id of a lease. */
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

/** A caller's request for another token. */
export interface RenewalWish {
  /** Id of the token to replace; null: the caller knows none. */
  insteadOf: string | null;
  cause: RenewalCause;
  /** Of the call with the 401; null if there was none, or the caller does not say. */
  operation: string | null;
  /** The service has accepted the token for this operation before. */
  hasServed: boolean;
}

/** The pause after refused credentials, and before another token for an operation that rejects every token. */
export const tokenCoolDownMs = 60_000;

/** The longest wait before the next try, whatever the service or a memo says. */
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

/** Must a caller wait because of the failure? `rejected`: its call with a 401, if any. */
export const isAbout = (
  { operations }: TokenFailure,
  rejected: { operation: string; hasServed: boolean } | undefined,
): boolean =>
  operations === undefined ||
  (rejected !== undefined && !rejected.hasServed && operations.includes(rejected.operation));

/** Is it too early to try again after this failure? */
export const isCoolingDown = ({ retryAt }: TokenFailure, now: number): boolean => isAfter(retryAt, now);

/** The compare of the compare-and-swap: is the token to replace still the current one? */
const isCurrent = (lease: TokenLease, insteadOf: string | null): boolean =>
  lease.token === null || lease.token.id === insteadOf;

/** What a lease does about wishes: ignore those about an old token, confirm its token, request a new one, or fail. */
export type RenewalVerdict = { act: 'ignore' | 'confirm' | 'request' } | { act: 'fail'; failure: TokenFailure };

/**
 * The lease replaces a token that is due or rejected, since the service may end a token at any time. If the service rejects a call
 * whatever the token, that costs one token a minute.
 */
export function judgeWishes(lease: TokenLease, wishes: readonly RenewalWish[], now: number): RenewalVerdict {
  const current = wishes.filter(({ insteadOf }) => isCurrent(lease, insteadOf));
  if (current.length === 0) return { act: 'ignore' };
  const failure = lease.failure && isCoolingDown(lease.failure, now) ? lease.failure : null;
  if (failure && failure.operations === undefined) return { act: 'confirm' };
  if (lease.token === null || isDue(lease.token, now)) return { act: 'request' };
  // A caller that does not name its operation waits if any operation does.
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

/** More operations than we call, since any program may send a wish. */
const maxOperations = 50;

/** Three tokens at once may be replaced early, and then one each ten seconds, so that short lifetimes work and loops end. */
const paceMs = 10_000;
const atOnce = 3;

/** When the next token may be replaced early. */
export const pacedAgainAt = ({ pacedUntil }: TokenLease): number =>
  pacedUntil === null ? Number.NEGATIVE_INFINITY : Date.parse(pacedUntil) - (atOnce - 1) * paceMs;

/** Puts the instants of a token on the clock of the lease. */
export function onLeaseClock({ ageMs, ...token }: RequestedToken, now: number): SealedToken {
  const shiftMs = now - ageMs - Date.parse(token.requestedAt);
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

/** The lease after a failed request. An old token stays usable until its end. */
export const withFailure = (lease: TokenLease, failure: TokenFailure): TokenLease => ({
  ...lease,
  failure,
  failuresInRow: lease.failuresInRow + 1,
});

const firstBackOffMs = 1_000;

/** The failure to publish. There is a cool-down after a refusal, and a growing pause while the service is unreachable. */
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

/** Why the lease requests a token, for the metric. */
export function renewalReason({ token }: TokenLease, now: number): 'first' | 'expired' | 'ahead' | 'rejected' {
  if (token === null) return 'first';
  if (!isUsable(token, now)) return 'expired';
  return isDue(token, now) ? 'ahead' : 'rejected';
}

/** How long a lease waits for wishes before its run ends: two lifetimes of the token. */
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
