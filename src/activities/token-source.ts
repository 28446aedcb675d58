import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { Scope } from '../domain/keys.js';
import {
  isAbout,
  isCoolingDown,
  isDue,
  isUsable,
  longestWaitMs,
  pacedAgainAt,
  type RenewalWish,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
} from '../domain/token/lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';

/** The fleet's tokens, which the `accessToken` workflows keep. Both calls answer or fail within seconds. */
export interface TokenLeases {
  /** The published lease; null if there is none. Needs no worker and adds no event. */
  read(key: AccessTokenKey): Promise<TokenLease | null>;
  /** Asks for a new token, and starts the run if there is none. */
  renew(key: AccessTokenKey, wish: RenewalWish): Promise<void>;
}

/** An access token in clear, only for the `Authorization` header. */
export interface AccessToken {
  id: string;
  value: string;
  /** When this process asked for it, in milliseconds since the epoch; the token is newer. 0: the lease had it already. */
  askedAt: number;
  /** Operations for which the service has accepted it in this process. */
  readonly served: Set<string>;
}

/** A call that the service answered with 401. */
export interface RejectedCall {
  tokenId: string;
  operation: string;
  /** The service has accepted the token for this operation before. */
  hasServed: boolean;
}

/** Gives tokens to calls. One pending read per key and reason in this process, one request per lifetime in the fleet (I4). */
export interface TokenSource {
  /** After a 401 on `rejected` another token is given. Throws `TokenUnavailable`. */
  get(account: Account, scope: Scope, rejected?: RejectedCall): Promise<AccessToken>;
  /** Tells the fleet that a token was rejected although a 401 on the same call had caused its request. Never fails. */
  rejectAfresh(account: Account, scope: Scope, rejected: Omit<RejectedCall, 'hasServed'>): Promise<void>;
}

/** The lease has no usable token. Not for a 401 on a call, which is the service's answer to a token. */
export class TokenUnavailable extends FaretrailError<TokenFailure['code']> {
  override readonly name = 'TokenUnavailable';
  /** When it makes sense to ask again, in milliseconds since the epoch. */
  readonly retryAt: number;

  constructor(code: TokenFailure['code'], message: string, retryAt: number) {
    super(code, message);
    this.retryAt = retryAt;
  }
}

interface TokenSourcePorts {
  leases: TokenLeases;
  unseal(token: SealedToken, leaseId: string): Promise<string>;
  credentialId(account: Account): string;
  now?: () => number;
  sleep?: (ms: number) => Promise<void>;
}

interface Held extends AccessToken {
  token: SealedToken;
  /** From this instant of the lease's clock on, the process asks for the next token while it still uses this one. */
  dueAt: number;
}

/** What this process knows of one lease. */
interface Entry {
  readonly key: AccessTokenKey;
  held?: Held;
  /** By the reason of the search. */
  readonly pending: Map<string, Promise<Held>>;
  /** An estimate of how far the clock of this process is ahead of the lease's clock. */
  aheadMs: number;
  /** Rejections that the fleet knows. */
  readonly told: Set<string>;
}

/** The wanted token: any usable one; with `isAhead`, one that is not due; with `rejected`, another one than the rejected. */
type Search = { rejected?: RejectedCall; isAhead?: true };

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;
const mostTold = 100;

/** Reads a token from a lease, and asks for a new one if necessary. */
function createSearch({ leases, unseal, now = Date.now, sleep = pause }: TokenSourcePorts) {
  /** A lease uses the clock of Temporal's server. */
  const leaseNow = ({ aheadMs }: Entry): number => now() - aheadMs;

  async function find(entry: Entry, search: Search): Promise<Held> {
    const deadline = now() + waitMs;
    let askedAt = 0;
    let before: TokenLease | null = null;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const lease = await read(entry);
      const isAnswered = askedAt > 0 && lease !== null && lease.publishedAt !== (before?.publishedAt ?? null);
      if (isAnswered) setClock(entry, lease, askedAt);
      const token = lease?.token;
      if (token && suits(token, search, leaseNow(entry))) return await hold(entry, token, askedAt);
      // A failure that answers this search counts even if its cool-down is over.
      const failure = lease?.failure;
      const counts = failure && (isAnswered || isCoolingDown(failure, leaseNow(entry)));
      if (counts && isAbout(failure, search.rejected)) {
        throw unavailable(failure, Date.parse(failure.retryAt), entry);
      }
      if (lease && search.rejected) refuseWhilePaced(lease, entry);
      if (now() >= deadline) throw new TokenUnavailable('upstreamUnavailable', stillWaiting, now() + 1_000);
      if (askedAt === 0 || isAnswered) {
        before = lease;
        askedAt = now();
        await leases.renew(entry.key, toWish(token, search));
      }
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - now()));
    }
  }

  /** A lease confirms its token to wishes that come too fast. */
  function refuseWhilePaced(lease: TokenLease, entry: Entry): void {
    const isEarly = lease.token !== null && !isDue(lease.token, leaseNow(entry));
    const againAt = pacedAgainAt(lease);
    if (!isEarly || againAt <= leaseNow(entry)) return;
    const message = 'The service rejects tokens before their end, faster than they may be replaced.';
    throw unavailable({ code: 'credentialsRejected', message }, againAt, entry);
  }

  /** `retryAt` is by the clock of the lease. Callers try again within the longest wait, whatever a memo says. */
  function unavailable({ code, message }: Pick<TokenFailure, 'code' | 'message'>, retryAt: number, entry: Entry) {
    return new TokenUnavailable(code, message, Math.min(retryAt + entry.aheadMs, now() + longestWaitMs));
  }

  /** A lease is published before it is read: if this clock says otherwise, it is behind. */
  async function read(entry: Entry): Promise<TokenLease | null> {
    const lease = await leases.read(entry.key);
    if (lease?.publishedAt) entry.aheadMs = Math.min(entry.aheadMs, now() - Date.parse(lease.publishedAt));
    return lease;
  }

  /** An answer is published after the wish: if this clock says otherwise, it is ahead. */
  function setClock(entry: Entry, { publishedAt }: TokenLease, askedAt: number): void {
    if (publishedAt) entry.aheadMs = Math.max(entry.aheadMs, askedAt - Date.parse(publishedAt));
  }

  async function hold(entry: Entry, token: SealedToken, askedAt: number): Promise<Held> {
    const value = await unseal(token, accessTokenId(entry.key));
    const renewAt = Date.parse(token.renewAt);
    // Spread over the first half of the time before the end, so that one process asks and the others find the new token.
    const dueAt = renewAt + (Math.random() * (Date.parse(token.expiresAt) - renewAt)) / 2;
    const served = entry.held?.id === token.id ? entry.held.served : new Set<string>();
    entry.held = { id: token.id, value, askedAt, served, token, dueAt };
    return entry.held;
  }

  return { find, leaseNow };
}

/** See `TokenSource`. */
export function createTokenSource(ports: TokenSourcePorts): TokenSource {
  const { leases, credentialId } = ports;
  const { find, leaseNow } = createSearch(ports);
  const entries = new Map<string, Entry>();

  function entryOf(account: Account, scope: Scope): Entry {
    const key = { account: account.name, scope, credentialId: credentialId(account) };
    const leaseId = accessTokenId(key);
    const entry = entries.get(leaseId) ?? { key, pending: new Map(), aheadMs: 0, told: new Set() };
    entries.set(leaseId, entry);
    return entry;
  }

  function share(entry: Entry, search: Search): Promise<Held> {
    const { operation, hasServed } = search.rejected ?? {};
    const name = JSON.stringify([operation, hasServed]);
    const pending = entry.pending.get(name) ?? find(entry, search).finally(() => entry.pending.delete(name));
    entry.pending.set(name, pending);
    return pending;
  }

  function refreshAhead(entry: Entry, held: Held): void {
    held.dueAt = leaseNow(entry) + refreshRetryMs;
    // The old token is still usable. When it ends, the next caller gets this error.
    share(entry, { isAhead: true }).catch(() => undefined);
  }

  return {
    async get(account, scope, rejected) {
      const entry = entryOf(account, scope);
      const { held } = entry;
      if (held && held.id !== rejected?.tokenId && isUsable(held.token, leaseNow(entry))) {
        if (leaseNow(entry) >= held.dueAt && entry.pending.size === 0) refreshAhead(entry, held);
        return held;
      }
      const search = rejected ? { rejected } : {};
      const shared = await share(entry, search);
      // A search that was under way when the token was rejected may have found that same token.
      return shared.id === rejected?.tokenId ? await share(entry, search) : shared;
    },

    async rejectAfresh(account, scope, { tokenId, operation }) {
      const { key, told } = entryOf(account, scope);
      const rejection = `${tokenId} ${operation}`;
      if (told.has(rejection)) return;
      if (told.size >= mostTold) told.clear();
      told.add(rejection);
      // If this fails, the fleet only requests one more token.
      await leases
        .renew(key, { insteadOf: tokenId, cause: 'rejectedAfresh', operation, hasServed: false })
        .catch(() => undefined);
    },
  };
}

const suits = (token: SealedToken, { rejected, isAhead }: Search, now: number): boolean =>
  isUsable(token, now) && token.id !== rejected?.tokenId && !(isAhead && isDue(token, now));

function toWish(token: SealedToken | null | undefined, { rejected }: Search): RenewalWish {
  const insteadOf = token?.id ?? null;
  if (rejected?.tokenId !== insteadOf) return { insteadOf, cause: 'due', operation: null, hasServed: false };
  const { operation, hasServed } = rejected;
  return { insteadOf, cause: 'rejected', operation, hasServed };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const stillWaiting = 'No access token yet: the token request has not been answered.';
