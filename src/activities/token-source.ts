import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { Scope } from '../domain/keys.js';
import {
  isCoolingDown,
  isUsable,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
} from '../domain/token-lease.js';
import { type AccessTokenKey, accessTokenId } from '../domain/workflow-ids.js';

/** Where the fleet keeps its tokens: the `accessToken` workflows. Both calls answer or fail within seconds. */
export interface TokenLeases {
  /** The published lease; null when there is no such run. Needs no worker and adds no event. */
  read(key: AccessTokenKey): Promise<TokenLease | null>;
  /** Asks for a new token in place of `insteadOf`; starts the run when there is none. */
  renew(key: AccessTokenKey, insteadOf: string | null): Promise<void>;
}

/** An access token in clear, for the `Authorization` header alone. */
export interface AccessToken {
  id: string;
  value: string;
  /** In milliseconds since the epoch. */
  requestedAt: number;
}

/** Gives tokens to calls. One pending read per key in this process, one request per lifetime in the fleet (I4). */
export interface TokenSource {
  /** `rejected`: id of a token that the service answered with 401; another one is given. Throws `TokenUnavailable`. */
  get(account: Account, scope: Scope, rejected?: string): Promise<AccessToken>;
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
  /** From here on this process asks for the next one, while this one still serves. */
  dueAt: number;
}

interface Entry {
  held?: Held;
  pending?: Promise<Held> | undefined;
}

/** A token request takes well under a second; a caller that waited this long tries again later by Temporal's retry. */
const waitMs = 10_000;
const firstPauseMs = 20;
const longestPauseMs = 1_000;
const refreshRetryMs = 5_000;

/** See `TokenSource`. */
export function createTokenSource(ports: TokenSourcePorts): TokenSource {
  const { leases, unseal, credentialId, now = Date.now, sleep = pause } = ports;
  const entries = new Map<string, Entry>();

  function share(entry: Entry, key: AccessTokenKey, insteadOf: string | undefined): Promise<Held> {
    entry.pending ??= obtain(key, insteadOf)
      .then((held) => {
        entry.held = held;
        return held;
      })
      .finally(() => {
        entry.pending = undefined;
      });
    return entry.pending;
  }

  async function obtain(key: AccessTokenKey, insteadOf: string | undefined): Promise<Held> {
    const deadline = now() + waitMs;
    let lease = await leases.read(key);
    let hasAsked = false;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const token = lease?.token;
      if (token && token.id !== insteadOf && isUsable(token, now())) return await hold(key, token);
      if (lease?.failure && isCoolingDown(lease, now())) throw toUnavailable(lease.failure);
      if (now() >= deadline) throw stillWaiting(now());
      if (!hasAsked) await leases.renew(key, token?.id ?? null);
      hasAsked = true;
      await sleep(Math.min(pauseMs * (0.5 + Math.random()), deadline - now()));
      lease = await leases.read(key);
    }
  }

  async function hold(key: AccessTokenKey, token: SealedToken): Promise<Held> {
    const value = await unseal(token, accessTokenId(key));
    const renewAt = Date.parse(token.renewAt);
    // Spread over the first half of the time ahead, so that one process asks and the others find the new token.
    const dueAt = renewAt + (Math.random() * (Date.parse(token.expiresAt) - renewAt)) / 2;
    return { id: token.id, value, requestedAt: Date.parse(token.requestedAt), token, dueAt };
  }

  function refreshAhead(entry: Entry, key: AccessTokenKey, held: Held): void {
    held.dueAt = now() + refreshRetryMs;
    // The old token still serves; when it ends, the next caller gets this error itself.
    share(entry, key, held.id).catch(() => undefined);
  }

  return {
    async get(account, scope, rejected) {
      const key = { account: account.name, scope, credentialId: credentialId(account) };
      const leaseId = accessTokenId(key);
      const entry = entries.get(leaseId) ?? {};
      entries.set(leaseId, entry);
      const { held } = entry;
      if (held && held.id !== rejected && isUsable(held.token, now())) {
        if (now() >= held.dueAt && !entry.pending) refreshAhead(entry, key, held);
        return held;
      }
      const shared = await share(entry, key, rejected ?? held?.id);
      // A read that was under way when the token was rejected may have found that same token.
      return shared.id === rejected ? await share(entry, key, rejected) : shared;
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const toUnavailable = ({ code, message, retryAt }: TokenFailure): TokenUnavailable =>
  new TokenUnavailable(code, message, Date.parse(retryAt));

const stillWaiting = (now: number): TokenUnavailable =>
  new TokenUnavailable(
    'upstreamUnavailable',
    'No access token yet: the token request has not been answered.',
    now + 1_000,
  );
