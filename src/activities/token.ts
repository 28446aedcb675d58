import { randomUUID } from 'node:crypto';
import { cancellationSignal, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type MonotonicClock, monotonicMs } from '../clock.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, Scope } from '../domain/keys.js';
import {
  clockSlackMs,
  coolDownOf,
  leftAtPublication,
  lifetimeMs,
  type RequestedToken,
  renewAheadMs,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
  type TokenRequestTrouble,
} from '../domain/token-lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable, TokenRefused } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { TemporalClock } from './temporal-clock.js';

// A token's two ends: the activity that requests it for the fleet's lease, and the source from which calls take it.

export interface TokenActivityPorts {
  /** The account, if this process holds exactly these credentials of it. */
  accountWith(name: AccountName, credentialId: string): Account | undefined;
  rideApi: RideApi;
  /** Seals for readers of this lease only. */
  seal(accessToken: string, leaseId: string): Promise<string>;
  refreshEarlyMs: number;
  monotonic?: MonotonicClock;
}

/** Of one lease. Each token that is requested has such an answer, and tokens may live for seconds. */
const warnEveryMs = 3_600_000;

export type TokenActivities = ReturnType<typeof createTokenActivities>;

/** The activity behind the `accessToken` workflow. */
export function createTokenActivities({
  accountWith,
  rideApi,
  seal,
  refreshEarlyMs,
  monotonic = monotonicMs,
}: TokenActivityPorts) {
  /** When this process last warned about the answers for a lease, by the monotonic clock. */
  const warnedAt = new Map<string, number>();

  function warn(key: AccessTokenKey, differences: readonly string[]): void {
    const lastAt = warnedAt.get(accessTokenId(key)) ?? Number.NEGATIVE_INFINITY;
    if (differences.length === 0 || monotonic() - lastAt < warnEveryMs) return;
    warnedAt.set(accessTokenId(key), monotonic());
    const { account, scope } = key;
    log.warn('the answer to a token request is unusual; its token is used', { account, scope, differences });
  }

  return {
    /** One token request. The token leaves this function sealed. Any answer of the service is a result, so that the workflow tells the
     *  fleet at once and decides when to try again. */
    async requestToken(key: AccessTokenKey): Promise<RequestedToken | TokenRequestTrouble> {
      const account = accountWith(key.account, key.credentialId);
      if (!account) throw notHeld(key);
      const requestedAt = monotonic();
      try {
        const reply = await rideApi.requestToken(account, key.scope, cancellationSignal());
        const { accessToken, lifetimeMs: livesMs } = reply;
        warn(key, reply.differences);
        const sealed = await seal(accessToken, accessTokenId(key));
        const renewAfterMs = livesMs - renewAheadMs(livesMs, refreshEarlyMs);
        const ageMs = monotonic() - requestedAt;
        return { id: randomUUID(), sealed, ageMs, renewAfterMs, lifetimeMs: livesMs };
      } catch (error) {
        return toTrouble(error);
      }
    },
  };
}

/** While credentials change, workers with old and new ones share a queue: another worker will take the task. */
const notHeld = ({ account }: AccessTokenKey): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'CredentialsNotHeld',
    message: `This worker does not hold these credentials of account ${account}; another worker is asked.`,
  });

/** What the error says of the service. Throws an error that says nothing of it. */
function toTrouble(error: unknown): TokenRequestTrouble {
  if (error instanceof TokenRefused) return { code: error.code, message: error.message, retryAfterMs: null };
  if (error instanceof RideApiError) {
    const { message, retryAfterMs = null } = error;
    return { code: 'upstreamUnavailable', message, retryAfterMs };
  }
  if (error instanceof RideApiUnreachable || error instanceof RideApiGarbled || error instanceof UnusableReply) {
    return { code: 'upstreamUnavailable', message: error.message, retryAfterMs: null };
  }
  throw error;
}

/** The fleet's tokens, which the `accessToken` workflows keep. Both calls answer or fail within seconds. */
export interface TokenLeases {
  /** The published lease; null if there is none. Needs no worker and adds no event. */
  read(key: AccessTokenKey): Promise<TokenLease | null>;
  /** Asks for a new token if this is still the id of the current one, and starts the run if there is none. */
  renew(key: AccessTokenKey, insteadOf: string | null): Promise<void>;
}

/** An access token in clear, only for the `Authorization` header. */
export interface AccessToken {
  id: string;
  value: string;
}

/** Gives tokens to calls. One pending read per key in this process, one request per lifetime in the fleet (I4). */
export interface TokenSource {
  /** `rejected`: the id of a token that the service answered with 401; another one is given. Throws `TokenUnavailable`. */
  get(account: Account, scope: Scope, rejected?: string): Promise<AccessToken>;
}

/** The lease has no usable token. Not for a 401 on a call, which is the service's answer to a token. */
export class TokenUnavailable extends FaretrailError<TokenFailure['code']> {
  override readonly name = 'TokenUnavailable';
  /** The wait after which it makes sense to ask again. */
  readonly afterMs: number;
  /** The service has not refused a token: the lease waits before it requests one more. */
  readonly isPaced: boolean;

  constructor(code: TokenFailure['code'], message: string, afterMs: number, isPaced = false) {
    super(code, message);
    this.afterMs = afterMs;
    this.isPaced = isPaced;
  }
}

interface TokenSourcePorts {
  leases: TokenLeases;
  unseal(sealed: string, leaseId: string): Promise<string>;
  credentialId(account: Account): string;
  monotonic?: MonotonicClock;
  /** Default: nothing is known of the server's clock. */
  server?: Pick<TemporalClock, 'sinceAtLeast'>;
  sleep?: (ms: number) => Promise<void>;
}

/** The start of a token's life, by the monotonic clock: no clock that is wrong or mended ends a token. */
interface TokenBirth {
  /**
   * The moment of the request, if the token was published after this process asked for it; otherwise of its first read.
   */
  beganAt: number;
  /**
   * Null if the token was published after this process asked for it. Otherwise the instant of its request on the
   * Temporal server's clock: a later task may show that the token is older than it seemed.
   */
  requestedAt: number | null;
}

/** A token in the memory of this process. */
interface HeldToken extends AccessToken, TokenBirth {
  lifetimeMs: number;
  /** From this age on, the process asks for the next token while it still uses this one. */
  renewAfterMs: number;
  /** It does not ask again before this moment. */
  renewAgainAt: number;
}

/** What this process knows of one lease. */
interface Entry {
  readonly key: AccessTokenKey;
  held?: HeldToken;
  /** The newest failure of the lease. `seenAt`: when this process first saw it, by the monotonic clock. */
  failed?: { at: string; seenAt: number };
  pending?: Promise<AccessToken> | undefined;
}

/** A request of this process to the lease. `at`: by the monotonic clock. */
interface Asked {
  at: number;
  publishedBefore: string | null;
  tokenBefore: string | null;
}

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;

/**
 * The rest of the cool-down by the server's clock; 0 if the failure lies in the future, since a clock was wrong then.
 */
function coolDownLeftMs(failure: TokenFailure, server: Pick<TemporalClock, 'sinceAtLeast'>): number {
  const passedMs = server.sinceAtLeast(Date.parse(failure.at)) ?? 0;
  return passedMs < -clockSlackMs ? 0 : Math.max(0, coolDownOf(failure) - Math.max(0, passedMs));
}

/**
 * At most the cool-down, counted from the first time this process read the failure: it may not know the server's clock.
 */
function waitAfter(
  entry: Entry,
  failure: TokenFailure,
  server: Pick<TemporalClock, 'sinceAtLeast'>,
  now: number,
): number {
  if (entry.failed?.at !== failure.at) entry.failed = { at: failure.at, seenAt: now };
  const sinceSeenMs = now - entry.failed.seenAt;
  return Math.max(0, Math.min(coolDownLeftMs(failure, server), coolDownOf(failure) - sinceSeenMs));
}

/** `askedAt`: when this process asked, if the token was published after that. */
const birthOf = ({ requestedAt }: SealedToken, askedAt: number | null, now: number): TokenBirth =>
  askedAt === null ? { beganAt: now, requestedAt: Date.parse(requestedAt) } : { beganAt: askedAt, requestedAt: null };

function toHeld(token: SealedToken, value: string, { beganAt, requestedAt }: TokenBirth): HeldToken {
  const livesMs = lifetimeMs(token);
  const renewMs = Date.parse(token.renewAt) - Date.parse(token.requestedAt);
  // Spread over the first half of the remaining lifetime, so that one process renews and the others read the new token.
  const renewAfterMs = renewMs + (Math.random() * (livesMs - renewMs)) / 2;
  const renewAgainAt = Number.NEGATIVE_INFINITY;
  return { id: token.id, value, beganAt, requestedAt, lifetimeMs: livesMs, renewAfterMs, renewAgainAt };
}

const unavailable = ({ code, message, isPaced }: TokenFailure, afterMs: number): TokenUnavailable =>
  new TokenUnavailable(code, message, afterMs, isPaced);

/** See `TokenSource`. */
export function createTokenSource(ports: TokenSourcePorts): TokenSource {
  const { leases, unseal, credentialId, monotonic = monotonicMs, sleep = pause } = ports;
  const { server = { sinceAtLeast: () => undefined } } = ports;
  const entries = new Map<string, Entry>();

  function entryOf(account: Account, scope: Scope): Entry {
    const key = { account: account.name, scope, credentialId: credentialId(account) };
    const entry = entries.get(accessTokenId(key)) ?? { key };
    entries.set(accessTokenId(key), entry);
    return entry;
  }

  /** Reads the lease until it has a usable token other than this one, and asks for one if necessary. */
  async function find(entry: Entry, insteadOf: string | null): Promise<AccessToken> {
    const deadline = monotonic() + waitMs;
    let asked: Asked | undefined;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const { token = null, failure = null, publishedAt = null } = (await leases.read(entry.key)) ?? {};
      const isAnswered = asked !== undefined && publishedAt !== null && publishedAt !== asked.publishedBefore;
      if (token && token.id !== insteadOf) {
        // A token that came after this process asked is no older than that, whatever the clocks say.
        const askedAt = asked && token.id !== asked.tokenBefore ? asked.at : null;
        const birth = entry.held?.id === token.id ? entry.held : birthOf(token, askedAt, monotonic());
        if (ageOf(birth) < lifetimeMs(token)) return await hold(entry, token, birth);
      }
      const leftMs = failure ? waitAfter(entry, failure, server, monotonic()) : 0;
      if (failure && leftMs > 0) throw unavailable(failure, leftMs);
      // This failure is the answer to our request, so it counts. Our estimate of the server's clock may date from the
      // first schedule of the activity, so the rest of the pause comes from the run's own instants.
      if (failure && isAnswered) throw unavailable(failure, leftAtPublication(failure, publishedAt));
      if (monotonic() >= deadline) throw new TokenUnavailable('upstreamUnavailable', stillWaiting, 1_000);
      if (asked === undefined || isAnswered) {
        asked = { at: monotonic(), publishedBefore: publishedAt, tokenBefore: token?.id ?? null };
        await leases.renew(entry.key, token?.id ?? null);
      }
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - monotonic()));
    }
  }

  /** An unknown age counts as none: the service rejects an old token, which is then replaced. */
  const ageOf = ({ beganAt, requestedAt }: TokenBirth): number =>
    Math.max(monotonic() - beganAt, requestedAt === null ? 0 : (server.sinceAtLeast(requestedAt) ?? 0));

  async function hold(entry: Entry, token: SealedToken, birth: TokenBirth): Promise<AccessToken> {
    entry.held = toHeld(token, await unseal(token.sealed, accessTokenId(entry.key)), birth);
    return entry.held;
  }

  async function another(entry: Entry, insteadOf: string | null): Promise<AccessToken> {
    for (;;) {
      entry.pending ??= find(entry, insteadOf).finally(() => {
        entry.pending = undefined;
      });
      const found = await entry.pending;
      // A search that was under way when the token was rejected may have found that same token.
      if (found.id !== insteadOf) return found;
    }
  }

  return {
    async get(account, scope, rejected) {
      const entry = entryOf(account, scope);
      const { held } = entry;
      if (!held || held.id === rejected || ageOf(held) >= held.lifetimeMs)
        return await another(entry, rejected ?? null);
      if (ageOf(held) >= held.renewAfterMs && monotonic() >= held.renewAgainAt) {
        held.renewAgainAt = monotonic() + refreshRetryMs;
        // The old token is still usable. When it ends, the next caller gets this error.
        another(entry, held.id).catch(() => undefined);
      }
      return held;
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const stillWaiting = 'No access token yet: the token request has not been answered.';
