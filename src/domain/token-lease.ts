import { readInput } from './input-fields.js';
import { iso, PublishedInstantSchema } from './instant.js';
import { AccountNameSchema, toScope } from './keys.js';
import { attentionLines, second, tableOf } from './markdown.js';
import * as s from './schema.js';

/** A text of whatever length, but not empty. */
const filled = s.matching(/[\s\S]/, 'must be a text');

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
});
/** A sealed token, as Temporal stores it. */
export type SealedToken = s.Read<typeof SealedTokenSchema>;

/** A token as the activity obtained it. It tells times, not instants, since clocks of workers differ. */
export interface RequestedToken extends Pick<SealedToken, 'id' | 'sealed'> {
  /** How long ago the request was sent. */
  ageMs: number;
  /** These two count from the sending of the request. */
  renewAfterMs: number;
  lifetimeMs: number;
}

const TokenFailureSchema = s.answerOf({
  code: s.wordOf(['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable']),
  message: s.answered(),
  at: PublishedInstantSchema,
  // Until then the lease requests nothing.
  retryAt: PublishedInstantSchema,
  // The lease has made no request: it replaces tokens no faster.
  isPaced: s.absentOr(s.flag),
});
/** Why there is no (new) token, and when to try again. */
export type TokenFailure = s.Read<typeof TokenFailureSchema>;

/** Why a token request failed. */
export interface TokenRequestTrouble extends Pick<TokenFailure, 'code' | 'message'> {
  /** The service asked for this pause. */
  retryAfterMs: number | null;
}

const amount = s.wholeNumber(0);
const TokenLeaseSchema = s.answerOf({
  token: s.nullable(SealedTokenSchema),
  failure: s.nullable(TokenFailureSchema),
  // Tokens obtained so far.
  renewals: amount,
  // Failed requests since the last token; the back-off grows with them.
  failuresInRow: amount,
  // Each token that is replaced before its time moves this instant on; see `refusalOf`.
  pacedUntil: s.nullable(PublishedInstantSchema),
  // Each publication is the answer to the requests before it.
  publishedAt: s.nullable(PublishedInstantSchema),
});
/** What the fleet shares about one token: the memo of its `accessToken` run. Instants are by the clock of the Temporal server. */
export type TokenLease = s.Read<typeof TokenLeaseSchema>;

export const emptyLease: TokenLease = {
  token: null,
  failure: null,
  renewals: 0,
  failuresInRow: 0,
  pacedUntil: null,
  publishedAt: null,
};

/** The lease in the memo of `accessToken`. Null if none of our runs has written it: any program may start a run with the id of a lease. */
export const publishedLease = (memo: Record<string, unknown> | undefined): TokenLease | null =>
  s.readOr(TokenLeaseSchema, memo?.lease, null);

const maxScope = 1_000;
const scopeRule = `must be sorted scope values with one blank between, ${maxScope} characters at most`;

const AccessTokenInputSchema = s.inputOf({
  account: AccountNameSchema,
  scope: s.mapped(
    s.checked(s.answered(), (scope) => scope.length <= maxScope && toScope(scope) === scope, scopeRule),
    toScope,
  ),
  credentialId: s.matching(/^[0-9a-f]{16}$/, 'must be 16 hex digits'),
  // What the previous run of this lease knew.
  lease: s.optional(TokenLeaseSchema),
  // The run continues as new after so many events.
  maxEvents: s.optional(s.positive),
});
/** The input of `accessToken`. */
export type AccessTokenInput = s.Read<typeof AccessTokenInputSchema>;

/** Reads the input of `accessToken`. Throws `InvalidInput` that names the field. */
export const parseAccessTokenInput = (value: unknown): AccessTokenInput => readInput(AccessTokenInputSchema, value);

const RenewalRequestSchema = s.answerOf({ insteadOf: s.nullable(s.answered()) });
/** A caller's request for another token. `insteadOf`: id of the token to replace; null: the caller knows none. */
export type RenewalRequest = s.Read<typeof RenewalRequestSchema>;

/** The compare of the compare-and-swap: does the request name the current token? False for what is no request. */
export function isAboutCurrent({ token }: TokenLease, request: unknown): boolean {
  const read = s.readOr(RenewalRequestSchema, request, null);
  return read !== null && (token === null || token.id === read.insteadOf);
}

/** The pause after refused credentials, and the longest one while the service is unreachable and names none. */
const coolDownMs = 60_000;

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
const isDue = (token: SealedToken, now: number): boolean => !isAfter(token.renewAt, now);

/** From the sending of its request to its end. */
export const lifetimeMs = ({ requestedAt, expiresAt }: SealedToken): number =>
  Date.parse(expiresAt) - Date.parse(requestedAt);

/** Tolerated difference between two clocks. An instant further in the future was recorded by a wrong clock. */
export const clockSlackMs = 60_000;

/** How long the lease meant to request nothing after this failure. */
export const coolDownOf = ({ at, retryAt }: TokenFailure): number =>
  Math.min(Date.parse(retryAt) - Date.parse(at), longestWaitMs);

/** How much of the pause after the failure was left when the run published it. Both instants are by the clock of the run. */
export const leftAtPublication = (failure: TokenFailure, publishedAt: string): number =>
  Math.max(0, Math.min(Date.parse(failure.retryAt) - Date.parse(publishedAt), coolDownOf(failure)));

/** Is it too early to try again after this failure? One from the future was noted by a clock that has been mended. */
export const isCoolingDown = (failure: TokenFailure, now: number): boolean =>
  isAfter(failure.retryAt, now) && !isAfter(failure.at, now + clockSlackMs);

/** Two tokens at once may be replaced before their time, and then one in half a minute: the service may end a token at any
 *  time, but if it rejects calls whatever the token, new ones do not help. */
const paceMs = 30_000;
const atOnce = 2;

/** No later than the pace allows; an instant beyond that is from a clock that has been mended. */
function pacedUntilMs(pacedUntil: string | null, now: number): number {
  const until = Date.parse(pacedUntil ?? iso(now));
  return until > now + atOnce * paceMs ? now : until;
}

const refused =
  'The service rejects tokens before their end, faster than they may be replaced. Check that base URL and token URL belong together, ' +
  'path and scope of the operations that it answers with 401, and that no other program ends tokens of this client.';

/** Why a lease that is asked for another token requests none now; null: it requests one. */
export function refusalOf({ token, failure, pacedUntil }: TokenLease, now: number): TokenFailure | null {
  if (failure && isCoolingDown(failure, now)) return failure;
  if (token === null || isDue(token, now)) return null;
  const againAt = pacedUntilMs(pacedUntil, now) - (atOnce - 1) * paceMs;
  if (againAt <= now) return null;
  const retryAt = iso(Math.min(againAt, Date.parse(token.renewAt)));
  return { code: 'credentialsRejected', message: refused, at: iso(now), retryAt, isPaced: true };
}

/** The lease after a token was obtained. */
export function withToken(lease: TokenLease, requested: RequestedToken, now: number): TokenLease {
  const { ageMs, renewAfterMs, lifetimeMs: livesMs, ...token } = requested;
  const requestedMs = now - ageMs;
  const isEarly = lease.token !== null && !isDue(lease.token, now);
  const pacedMs = Math.max(now, pacedUntilMs(lease.pacedUntil, now)) + paceMs;
  return {
    ...lease,
    token: {
      ...token,
      requestedAt: iso(requestedMs),
      renewAt: iso(requestedMs + renewAfterMs),
      expiresAt: iso(requestedMs + livesMs),
    },
    failure: null,
    renewals: lease.renewals + 1,
    failuresInRow: 0,
    pacedUntil: isEarly ? iso(pacedMs) : lease.pacedUntil,
  };
}

const firstBackOffMs = 1_000;

/** The lease after a failed request. An old token stays usable until its end. There is a cool-down after a refusal, and a growing pause
 *  while the service is unreachable. */
export function withTrouble(lease: TokenLease, trouble: TokenRequestTrouble, now: number): TokenLease {
  const { code, message, retryAfterMs } = trouble;
  const backOffMs = Math.min(firstBackOffMs * 2 ** lease.failuresInRow, coolDownMs);
  const askedForMs = Math.min(Math.max(retryAfterMs ?? 0, backOffMs), longestWaitMs);
  const waitMs = code === 'upstreamUnavailable' ? askedForMs : coolDownMs;
  const failure = { code, message, at: iso(now), retryAt: iso(now + waitMs) };
  return { ...lease, failure, failuresInRow: lease.failuresInRow + 1 };
}

/** Callers whose token is rejected ask again soon after `retryAt`. If none does within this time, calls go through again. */
const askedAgainWithinMs = 15_000;

/** After what time the lease forgets that it refused to replace a token; null: it has nothing to forget. */
export function forgottenAfterMs({ failure }: TokenLease, now: number): number | null {
  if (!failure?.isPaced) return null;
  const leftMs = Math.min(Date.parse(failure.retryAt) - now, coolDownOf(failure));
  return Math.max(1, leftMs + askedAgainWithinMs);
}

/** Why the lease requests a token, for the metric. */
export function renewalReason({ token }: TokenLease, now: number): 'first' | 'expired' | 'ahead' | 'rejected' {
  if (token === null) return 'first';
  if (!isUsable(token, now)) return 'expired';
  return isDue(token, now) ? 'ahead' : 'rejected';
}

/** How long a lease waits for requests before its run ends: two lifetimes of the token. */
export function idleMs({ token }: TokenLease): number {
  return 2 * Math.max(token === null ? 0 : lifetimeMs(token), coolDownMs);
}

/** The lease as Markdown for the Temporal UI. Holds times and the reason of a failure, never a token. */
export function describeLease({ token, failure, renewals }: TokenLease): string {
  const rows = [
    ['token', token?.id ?? 'none yet'],
    ['obtained', token?.requestedAt ?? '-'],
    ['renewed from', token?.renewAt ?? '-'],
    ['expires', token?.expiresAt ?? '-'],
    ['tokens so far', String(renewals)],
  ];
  return [
    ...attentionLines(failure && { ...failure, since: failure.at }),
    ...(failure ? [`Asked again from ${second(failure.retryAt)} UTC.`] : []),
    tableOf(['', ''], rows),
  ].join('\n\n');
}
