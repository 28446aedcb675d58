import type { Account } from '../domain/account.js';
import type { Scope } from '../domain/keys.js';
import { RideApiError } from '../ride-api/errors.js';
import { QuietTime, type QuietTimes } from './quiet-times.js';
import type { TokenSource } from './token-source.js';

/** One call with the fleet's token. Throws what `send` throws, `TokenUnavailable`, `QuietTime`. */
export type AuthorizedCall = <T>(
  account: Account,
  scope: Scope,
  send: (accessToken: string) => Promise<T>,
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

/** After a 401 the call is repeated once with another token (upstream section 3.2, given); a second 401 fails it. */
export function createAuthorizedCall({ tokens, quietTimes, now = Date.now }: AuthorizedCallPorts): AuthorizedCall {
  return async (account, scope, send) => {
    quietTimes.check(account.name);
    const askedAt = now();
    const token = await tokens.get(account, scope);
    if (now() - askedAt > longestTokenWaitMs) throw new QuietTime(anotherTurnMs);
    quietTimes.check(account.name); // it may have begun while the token was waited for
    try {
      return await send(token.value).catch(async (error: unknown) => {
        if (!isTokenRejected(error)) throw error;
        const renewed = await tokens.get(account, scope, token.id);
        return await send(renewed.value);
      });
    } catch (error) {
      if (error instanceof RideApiError && error.retryAfterMs !== undefined) {
        quietTimes.begin(account.name, error.retryAfterMs);
      }
      throw error;
    }
  };
}
