import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, Scope } from '../domain/keys.js';
import { RideApiError } from '../ride-api/errors.js';
import type { AccessToken, TokenSource } from './token-source.js';

/** The account has to wait, because the service asked for it or for its own budget: nothing was sent. */
export class QuietTime extends FaretrailError<'QuietTime'> {
  override readonly name = 'QuietTime';
  readonly leftMs: number;

  constructor(leftMs: number) {
    super('QuietTime', 'this account has to wait before its next call');
    this.leftMs = leftMs;
  }
}

/** Until when the service asked accounts to wait. It speaks to the account, so all its orders keep to it. */
export interface QuietTimes {
  /** Throws `QuietTime` while it lasts. */
  check(account: AccountName): void;
  begin(account: AccountName, forMs: number): void;
  leftMs(account: AccountName): number;
  /** For one call that a person waits for, whatever the wait: 0 once a minute, then how long until the next turn. */
  takeTurn(account: AccountName): number;
}

/** What one person may ask of a service that wants to be left alone. */
const turnEveryMs = 60_000;

/** Kept in the memory of the process: another worker learns it by a call of its own. */
export function createQuietTimes(now: () => number = Date.now): QuietTimes {
  const until = new Map<AccountName, number>();
  const nextTurn = new Map<AccountName, number>();
  const leftMs = (account: AccountName): number => Math.max(0, (until.get(account) ?? 0) - now());
  return {
    leftMs,
    check(account) {
      const left = leftMs(account);
      if (left > 0) throw new QuietTime(left);
    },
    begin(account, forMs) {
      until.set(account, Math.max(until.get(account) ?? 0, now() + forMs));
    },
    takeTurn(account) {
      const left = Math.max(0, (nextTurn.get(account) ?? 0) - now());
      if (left === 0) nextTurn.set(account, now() + turnEveryMs);
      return left;
    },
  };
}

/**
 * One call with the fleet's token; `operation` names it. Throws what `send` throws, `TokenUnavailable`, and `QuietTime` unless it
 * `isThrough`: let through whatever the account has to wait for.
 */
export type AuthorizedCall = <T>(
  account: Account,
  scope: Scope,
  operation: string,
  send: (accessToken: string) => Promise<T>,
  isThrough?: boolean,
) => Promise<T>;

interface AuthorizedCallPorts {
  tokens: TokenSource;
  quietTimes: QuietTimes;
  now?: () => number;
}

/**
 * Temporal hands out calls within the account's budget; those that had to wait for a token would all be sent at once when
 * it comes. After a longer wait they take another turn.
 */
const longestTokenWaitMs = 250;
const anotherTurnMs = 100;

const isTokenRejected = (error: unknown): boolean => error instanceof RideApiError && error.code === 'TOKEN_REJECTED';

/** Two are enough, unless the second is as old as the first: renewed in time, then ended by the service like the first. */
const mostTokens = 3;

/**
 * After a 401 the call is repeated with another token (given). It fails when a token is rejected that was
 * requested after that: then the service rejects this call, and the fleet is told, so that it replaces no more tokens for it.
 */
export function createAuthorizedCall({ tokens, quietTimes, now = Date.now }: AuthorizedCallPorts): AuthorizedCall {
  return async (account, scope, operation, send, isThrough = false) => {
    if (!isThrough) quietTimes.check(account.name);
    const askedAt = now();
    const token = await tokens.get(account, scope);
    if (!isThrough) {
      if (now() - askedAt > longestTokenWaitMs) throw new QuietTime(anotherTurnMs);
      quietTimes.check(account.name); // it may have begun while the token was waited for
    }
    try {
      return await sendWith(token, {
        ...{ operation, send, now },
        another: ({ id, served }) =>
          tokens.get(account, scope, { tokenId: id, operation, hasServed: served.has(operation) }),
        rejectAfresh: ({ id }) => tokens.rejectAfresh(account, scope, { tokenId: id, operation }),
      });
    } catch (error) {
      if (error instanceof RideApiError && error.retryAfterMs !== undefined) {
        quietTimes.begin(account.name, error.retryAfterMs);
      }
      throw error;
    }
  };
}

interface Sending<T> {
  operation: string;
  send(accessToken: string): Promise<T>;
  another(rejected: AccessToken): Promise<AccessToken>;
  rejectAfresh(rejected: AccessToken): Promise<void>;
  now(): number;
}

async function sendWith<T>(
  first: AccessToken,
  { operation, send, another, rejectAfresh, now }: Sending<T>,
): Promise<T> {
  let token = first;
  let rejectedAt = Number.POSITIVE_INFINITY;
  for (let left = mostTokens; ; left -= 1) {
    try {
      const answer = await send(token.value);
      token.served.add(operation);
      return answer;
    } catch (error) {
      if (!isTokenRejected(error)) throw error;
      const isAfresh = token.askedAt >= rejectedAt;
      // One that serves others of its kind was rejected by chance, such as by one of several servers.
      if (isAfresh && !token.served.has(operation)) await rejectAfresh(token);
      if (isAfresh || left === 1) throw error;
      rejectedAt = Math.min(rejectedAt, now());
      token = await another(token);
    }
  }
}
