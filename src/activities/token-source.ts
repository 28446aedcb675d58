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

/** Where the fleet keeps its tokens: the `accessToken` workflows. Both calls answer or fail within seconds. */
export interface TokenLeases {
  /** The published lease; null when there is none. Needs no worker and adds no event. */
  read(key: AccessTokenKey): Promise<TokenLease | null>;
  /** Asks for a new token; starts the run when there is none. */
  renew(key: AccessTokenKey, wish: RenewalWish): Promise<void>;
}

/** An access token in clear, for the `Authorization` header alone. */
export interface AccessToken {
  id: string;
  value: string;
  /** When this process asked for it, in milliseconds since the epoch: it was requested after that. 0: it was there already. */
  askedAt: number;
  /** Operations of which it has served calls in this process. */
  readonly served: Set<string>;
}

/** A call that the service answered with 401. */
export interface RejectedCall {
  tokenId: string;
  operation: string;
  /** The token has served calls of this operation. */
  hasServed: boolean;
}

/** Gives tokens to calls. One pending read per key and reason in this process, one request per lifetime in the fleet (I4). */
export interface TokenSource {
  /** After a 401 on `rejected` another token is given. Throws `TokenUnavailable`. */
  get(account: Account, scope: Scope, rejected?: RejectedCall): Promise<AccessToken>;
  /** Tells the fleet that a token was rejected which was requested because of a 401 on this same call. Never fails. */
  rejectAfresh(account: Account, scope: Scope, rejected: Omit<RejectedCall, 'hasServed'>): Promise<void>;
}

/** There is no token to be had now. Not a 401 on a call: that is the service's answer to a token that was had. */
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
  /** From here on, by the clock of the lease, this process asks for the next one, while this one still serves. */
  dueAt: number;
}

/** What this process knows of one lease. */
interface Entry {
  readonly key: AccessTokenKey;
  held?: Held;
  /** By what is looked for. */
  readonly pending: Map<string, Promise<Held>>;
  /** How far the clock of this process goes ahead of that of the lease, as far as is known. */
  aheadMs: number;
  /** Rejections that the fleet was told of. */
  readonly told: Set<string>;
}

/** What is looked for: any token that serves; one that is not due; another than a rejected one. */
type Search = { rejected?: RejectedCall; isAhead?: true };

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;
const mostTold = 100;

/** Looks for a token in a lease, and asks for one where that is needed. */
function createSearch({ leases, unseal, now = Date.now, sleep = pause }: TokenSourcePorts) {
  /** Instants of a lease are by the clock of Temporal's server. */
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
      // The answer may be a failure whose time is over already.
      const failure = lease?.failure;
      const counts = failure && (isAnswered || isCoolingDown(failure, leaseNow(entry)));
      if (counts && isAbout(failure, search.rejected)) {
        throw unavailable(failure, Date.parse(failure.retryAt), entry);
      }
      if (lease && search.rejected) refuseWhilePaced(lease, entry);
      if (now() >= deadline) throw stillWaiting(now());
      if (askedAt === 0 || isAnswered) {
        before = lease;
        askedAt = now();
        await leases.renew(entry.key, toWish(token, search));
      }
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - now()));
    }
  }

  /** A lease answers wishes that come too fast by saying that its token stands. */
  function refuseWhilePaced(lease: TokenLease, entry: Entry): void {
    const isEarly = lease.token !== null && !isDue(lease.token, leaseNow(entry));
    const againAt = pacedAgainAt(lease);
    if (!isEarly || againAt <= leaseNow(entry)) return;
    const message = 'The service rejects tokens before their end, faster than they may be replaced.';
    throw unavailable({ code: 'credentialsRejected', message }, againAt, entry);
  }

  /** `retryAt` by the clock of the lease; whoever wrote it, callers try again within the longest wait. */
  function unavailable({ code, message }: Pick<TokenFailure, 'code' | 'message'>, retryAt: number, entry: Entry) {
    return new TokenUnavailable(code, message, Math.min(retryAt + entry.aheadMs, now() + longestWaitMs));
  }

  /** What was published can be read only later: a clock that says otherwise goes behind. */
  async function read(entry: Entry): Promise<TokenLease | null> {
    const lease = await leases.read(entry.key);
    if (lease?.publishedAt) entry.aheadMs = Math.min(entry.aheadMs, now() - Date.parse(lease.publishedAt));
    return lease;
  }

  /** An answer is published after the question: a clock that says otherwise goes ahead. */
  function setClock(entry: Entry, { publishedAt }: TokenLease, askedAt: number): void {
    if (publishedAt) entry.aheadMs = Math.max(entry.aheadMs, askedAt - Date.parse(publishedAt));
  }

  async function hold(entry: Entry, token: SealedToken, askedAt: number): Promise<Held> {
    const value = await unseal(token, accessTokenId(entry.key));
    const renewAt = Date.parse(token.renewAt);
    // Spread over the first half of the time ahead, so that one process asks and the others find the new token.
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
    // The old token still serves; when it ends, the next caller gets this error itself.
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
      // Untold, it costs one more token.
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

const stillWaiting = (now: number): TokenUnavailable =>
  new TokenUnavailable(
    'upstreamUnavailable',
    'No access token yet: the token request has not been answered.',
    now + 1_000,
  );
