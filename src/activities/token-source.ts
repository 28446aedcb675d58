import { activityInfo } from '@temporalio/activity';
import { monotonicMs } from '../clock.js';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { Scope } from '../domain/keys.js';
import {
  isCoolingDown,
  isUsable,
  longestWaitMs,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
} from '../domain/token-lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';
import { createTemporalClock } from './temporal-clock.js';

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
  /** It makes sense to ask again after so many milliseconds. */
  readonly waitMs: number;
  /** The service has not refused a token: the lease waits before it requests one more. */
  readonly isPaced: boolean;

  constructor(code: TokenFailure['code'], message: string, waitMs: number, isPaced = false) {
    super(code, message);
    this.waitMs = waitMs;
    this.isPaced = isPaced;
  }
}

interface TokenSourcePorts {
  leases: TokenLeases;
  unseal(sealed: string, leaseId: string): Promise<string>;
  credentialId(account: Account): string;
  /** The monotonic clock. */
  elapsed?: () => number;
  /** An instant of Temporal's server that has passed, in milliseconds since the epoch; undefined: none is known. Default: that of the activity under way. */
  passed?: () => number | undefined;
  sleep?: (ms: number) => Promise<void>;
}

/** A token in the memory of this process. Both instants are by the monotonic clock. */
interface HeldToken extends AccessToken {
  /** From then on the process asks for the next token while it still uses this one. */
  dueAt: number;
  endsAt: number;
}

/** What this process knows of one lease. */
interface Entry {
  readonly key: AccessTokenKey;
  held?: HeldToken;
  pending?: Promise<AccessToken> | undefined;
}

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;

/**
 * See `TokenSource`. Instants of leases are by the clock of Temporal's server. While no task has told the time there, a lease counts as
 * fresh: an old token is rejected by the service and then replaced, and a failure is judged by the lease itself.
 */
export function createTokenSource(ports: TokenSourcePorts): TokenSource {
  const { leases, unseal, credentialId, elapsed = monotonicMs, passed = scheduledAt, sleep = pause } = ports;
  const entries = new Map<string, Entry>();
  const clock = createTemporalClock(elapsed);

  function entryOf(account: Account, scope: Scope): Entry {
    const key = { account: account.name, scope, credentialId: credentialId(account) };
    const entry = entries.get(accessTokenId(key)) ?? { key };
    entries.set(accessTokenId(key), entry);
    return entry;
  }

  const mayBeUsable = (token: SealedToken): boolean => {
    const now = clock.now();
    return now === undefined || isUsable(token, now);
  };

  const isTooEarly = (failure: TokenFailure): boolean => {
    const now = clock.now();
    return now !== undefined && isCoolingDown(failure, now);
  };

  /** Reads the lease until it has a usable token other than this one, and asks for one if necessary. */
  async function find(entry: Entry, insteadOf: string | null): Promise<AccessToken> {
    const deadline = elapsed() + waitMs;
    let asked: { before: string | null } | undefined;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const { token = null, failure = null, publishedAt = null } = (await leases.read(entry.key)) ?? {};
      const isAnswered = asked !== undefined && publishedAt !== null && publishedAt !== asked.before;
      if (token && token.id !== insteadOf && mayBeUsable(token)) return await hold(entry, token);
      // A failure that answers this process counts even if its cool-down is over.
      if (failure && (isAnswered || isTooEarly(failure))) throw toUnavailable(failure, clock.now());
      if (elapsed() >= deadline) throw new TokenUnavailable('upstreamUnavailable', stillWaiting, 1_000);
      if (asked === undefined || isAnswered) {
        asked = { before: publishedAt };
        await leases.renew(entry.key, token?.id ?? null);
      }
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - elapsed()));
    }
  }

  async function hold(entry: Entry, token: SealedToken): Promise<AccessToken> {
    const value = await unseal(token.sealed, accessTokenId(entry.key));
    entry.held = { id: token.id, value, ...lifeOf(token, clock.now(), elapsed()) };
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
      const passedAt = passed();
      if (passedAt !== undefined) clock.note(passedAt);
      const entry = entryOf(account, scope);
      const { held } = entry;
      if (!held) return await another(entry, rejected ?? null);
      if (held.id === rejected || elapsed() >= held.endsAt) return await another(entry, held.id);
      if (elapsed() >= held.dueAt) {
        held.dueAt = elapsed() + refreshRetryMs;
        // The old token is still usable. When it ends, the next caller gets this error.
        another(entry, held.id).catch(() => undefined);
      }
      return held;
    },
  };
}

/** When to renew a token and when it ends, by the monotonic clock. No token lives longer than its lifetime from now on, whatever clocks say. */
function lifeOf(token: SealedToken, serverNow: number | undefined, at: number): Pick<HeldToken, 'dueAt' | 'endsAt'> {
  const requestedAt = Date.parse(token.requestedAt);
  const from = Math.max(requestedAt, serverNow ?? requestedAt);
  const renewInMs = Date.parse(token.renewAt) - from;
  const endsInMs = Date.parse(token.expiresAt) - from;
  // Spread over the first half of the time before the end, so that one process asks and the others find the new token.
  return { dueAt: at + renewInMs + (Math.random() * (endsInMs - renewInMs)) / 2, endsAt: at + endsInMs };
}

/** Callers try again within the longest wait, whatever a memo says. */
function toUnavailable(failure: TokenFailure, serverNow: number | undefined): TokenUnavailable {
  const leftMs = Date.parse(failure.retryAt) - (serverNow ?? Date.parse(failure.at));
  const waitMs = Math.min(Math.max(leftMs, 0), longestWaitMs);
  return new TokenUnavailable(failure.code, failure.message, waitMs, failure.isPaced);
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
