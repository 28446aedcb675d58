import { randomUUID } from 'node:crypto';
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, Scope } from '../domain/keys.js';
import {
  isCoolingDown,
  isUsable,
  longestWaitMs,
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

// A token's two ends: the activity that requests it for the fleet's lease, and the source from which calls take it.

export interface TokenActivityPorts {
  /** The account, if this process holds exactly these credentials of it. */
  accountWith(name: AccountName, credentialId: string): Account | undefined;
  rideApi: RideApi;
  /** Seals for readers of this lease only. */
  seal(accessToken: string, leaseId: string): Promise<string>;
  refreshEarlyMs: number;
  now?: () => number;
}

export type TokenActivities = ReturnType<typeof createTokenActivities>;

/** The activity behind the `accessToken` workflow. */
export function createTokenActivities({
  accountWith,
  rideApi,
  seal,
  refreshEarlyMs,
  now = Date.now,
}: TokenActivityPorts) {
  return {
    /** One token request. The token leaves this function sealed. Any answer of the service is a result, so that the workflow tells the
     *  fleet at once and decides when to try again. */
    async requestToken(key: AccessTokenKey): Promise<RequestedToken | TokenRequestTrouble> {
      const account = accountWith(key.account, key.credentialId);
      if (!account) throw notHeld(key);
      const requestedAt = now();
      try {
        const { accessToken, lifetimeMs } = await rideApi.requestToken(account, key.scope, cancellationSignal());
        const sealed = await seal(accessToken, accessTokenId(key));
        const renewAfterMs = lifetimeMs - renewAheadMs(lifetimeMs, refreshEarlyMs);
        const ageMs = Math.max(0, now() - requestedAt);
        return { id: randomUUID(), sealed, ageMs, renewAfterMs, lifetimeMs };
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
  /** When it makes sense to ask again, in milliseconds since the epoch. */
  readonly retryAt: number;
  /** The service has not refused a token: the lease waits before it requests one more. */
  readonly isPaced: boolean;

  constructor(code: TokenFailure['code'], message: string, retryAt: number, isPaced = false) {
    super(code, message);
    this.retryAt = retryAt;
    this.isPaced = isPaced;
  }
}

interface TokenSourcePorts {
  leases: TokenLeases;
  unseal(sealed: string, leaseId: string): Promise<string>;
  credentialId(account: Account): string;
  now?: () => number;
  /** An instant of Temporal's server that has passed, in milliseconds since the epoch; undefined: none is known. Default: that of the activity under way. */
  passed?: () => number | undefined;
  sleep?: (ms: number) => Promise<void>;
}

/** What this process knows of one lease. */
interface Entry {
  readonly key: AccessTokenKey;
  held?: AccessToken & {
    token: SealedToken;
    /** From this instant on, the process asks for the next token while it still uses this one. */
    dueAt: number;
  };
  pending?: Promise<AccessToken> | undefined;
}

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;

/** See `TokenSource`. */
export function createTokenSource(ports: TokenSourcePorts): TokenSource {
  const { leases, unseal, credentialId, now = Date.now, passed = scheduledAt, sleep = pause } = ports;
  const entries = new Map<string, Entry>();
  /** How far this clock may be ahead of that of Temporal's server, which leases use: so a process that has just started takes no good token
   *  for an old one. An old one is rejected, and then replaced. */
  let aheadMs = Number.POSITIVE_INFINITY;
  const leaseNow = (): number => now() - aheadMs;

  const setClock = (passedAt: number): void => {
    aheadMs = Math.min(aheadMs, now() - passedAt);
  };

  function entryOf(account: Account, scope: Scope): Entry {
    const key = { account: account.name, scope, credentialId: credentialId(account) };
    const entry = entries.get(accessTokenId(key)) ?? { key };
    entries.set(accessTokenId(key), entry);
    return entry;
  }

  /** Reads the lease until it has a usable token other than this one, and asks for one if necessary. */
  async function find(entry: Entry, insteadOf: string | null): Promise<AccessToken> {
    const deadline = now() + waitMs;
    let asked: { at: number; before: string | null } | undefined;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const { token = null, failure = null, publishedAt = null } = (await leases.read(entry.key)) ?? {};
      const isAnswered = asked !== undefined && publishedAt !== null && publishedAt !== asked.before;
      if (publishedAt !== null) setClock(Date.parse(publishedAt)); // before it was read
      if (token && token.id !== insteadOf && isUsable(token, leaseNow())) return await hold(entry, token);
      // A failure that answers this process counts even if its cool-down is over.
      if (failure && (isAnswered || isCoolingDown(failure, leaseNow()))) throw unavailable(failure);
      if (now() >= deadline) throw new TokenUnavailable('upstreamUnavailable', stillWaiting, now() + 1_000);
      if (asked === undefined || isAnswered) {
        asked = { at: now(), before: publishedAt };
        await leases.renew(entry.key, token?.id ?? null);
      }
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - now()));
    }
  }

  /** Callers try again within the longest wait, whatever a memo says. */
  const unavailable = ({ code, message, retryAt, isPaced }: TokenFailure): TokenUnavailable =>
    new TokenUnavailable(code, message, Math.min(Date.parse(retryAt) + aheadMs, now() + longestWaitMs), isPaced);

  async function hold(entry: Entry, token: SealedToken): Promise<AccessToken> {
    const value = await unseal(token.sealed, accessTokenId(entry.key));
    const renewAt = Date.parse(token.renewAt);
    // Spread over the first half of the time before the end, so that one process asks and the others find the new token.
    const dueAt = renewAt + (Math.random() * (Date.parse(token.expiresAt) - renewAt)) / 2;
    entry.held = { id: token.id, value, token, dueAt };
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
      setClock(passed() ?? Number.NEGATIVE_INFINITY);
      const entry = entryOf(account, scope);
      const { held } = entry;
      if (!held || held.id === rejected || !isUsable(held.token, leaseNow())) {
        return await another(entry, rejected ?? null);
      }
      if (leaseNow() >= held.dueAt) {
        held.dueAt = leaseNow() + refreshRetryMs;
        // The old token is still usable. When it ends, the next caller gets this error.
        another(entry, held.id).catch(() => undefined);
      }
      return held;
    },
  };
}

/** Undefined for polls, which belong to no activity. Not when the attempt is due: after a crash of the server one may start a minute before. */
function scheduledAt(): number | undefined {
  try {
    return activityInfo().scheduledTimestampMs;
  } catch {
    return undefined;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const stillWaiting = 'No access token yet: the token request has not been answered.';
