import { interfaceTerms } from '../../../src/contracts/contract-profile.js';
import type { Account } from '../../../src/domain/account.js';
import type { AccountName } from '../../../src/domain/keys.js';
import type { RideApi } from '../../../src/ride-api/ride-api.js';

interface FetchedToken {
  accessToken: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** The access tokens of one process: fetched when first needed, kept until they expire, shared by all its calls. */
export function createTokenCache(rideApi: RideApi, now: () => number) {
  const tokens = new Map<AccountName, Promise<FetchedToken>>();
  const isFresh = ({ expiresAt }: FetchedToken): boolean => now() < expiresAt;

  function fetchToken(account: Account): Promise<FetchedToken> {
    const requestedAt = now();
    const scope = rideApi.scopeOf(account, interfaceTerms[account.interface].readOperation);
    const fetching = rideApi
      .requestToken(account, scope)
      .then(({ accessToken, lifetimeMs }) => ({ accessToken, expiresAt: requestedAt + lifetimeMs }));
    tokens.set(account.name, fetching);
    fetching.catch(() => tokens.delete(account.name)); // the next call asks again
    return fetching;
  }

  return {
    async get(account: Account): Promise<string> {
      const held = tokens.get(account.name);
      const token = await (held ?? fetchToken(account));
      if (isFresh(token)) return token.accessToken;
      // Of all calls that find it expired, the first replaces it and the others wait with it.
      const current = tokens.get(account.name);
      return (await (current && current !== held ? current : fetchToken(account))).accessToken;
    },
    forget: (account: Account): void => void tokens.delete(account.name),
  };
}
