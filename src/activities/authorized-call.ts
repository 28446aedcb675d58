import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, Scope } from '../domain/keys.js';
import { RideApiError } from '../ride-api/errors.js';
import type { AccessToken, TokenSource } from './token.js';
import type { Usage } from './watch/rates.js';

/** The account must wait, because the service asked for it, for the account's budget or for its token: the worker sends nothing now. */
export class QuietTime extends FaretrailError<'QuietTime'> {
  override readonly name = 'QuietTime';
  readonly leftMs: number;

  constructor(leftMs: number) {
    super('QuietTime', 'this account has to wait before its next call');
    this.leftMs = leftMs;
  }
}

/** The waits that the service has asked for. Each is for a whole account, so all its orders observe it. */
export type QuietTimes = ReturnType<typeof createQuietTimes>;

/** Kept in the memory of the process: another worker learns of a wait by a call of its own. */
export function createQuietTimes(now: () => number = Date.now) {
  const until = new Map<AccountName, number>();
  return {
    /** Throws `QuietTime` during a wait. */
    check(account: AccountName): void {
      const leftMs = (until.get(account) ?? 0) - now();
      if (leftMs > 0) throw new QuietTime(leftMs);
    },
    begin(account: AccountName, forMs: number): void {
      until.set(account, Math.max(until.get(account) ?? 0, now() + forMs));
    },
  };
}

/** How a call is made. */
export interface CallManner {
  /** Polls count their requests themselves. */
  isPoll?: boolean;
  /** A person waits for it: it is sent during a wait that the service has requested for the account, too. */
  forPerson?: boolean;
}

/** One call with the fleet's token. Throws the errors of `send`, `TokenUnavailable` and `QuietTime`. */
export type AuthorizedCall = <T>(
  account: Account,
  scope: Scope,
  send: (accessToken: string) => Promise<T>,
  manner?: CallManner,
) => Promise<T>;

interface AuthorizedCallPorts {
  tokens: TokenSource;
  quietTimes: QuietTimes;
  /** What calls leave of the budget is for the polls of the account. */
  usage?: Pick<Usage, 'count'>;
  /** How many calls of an account may wait for a token at a time, fewer than its SDK worker has slots. Default: any number. */
  mostWaiting?: number;
  now?: () => number;
}

/** Temporal dispatches calls within the account's budget. After a longer wait for a token they go back to Temporal, or all would be
 *  sent at once when the token comes. */
const longestTokenWaitMs = 250;
const anotherTurnMs = 100;
/** A token request takes well under a second. */
const crowdTurnMs = 1_000;

const isTokenRejected = (error: unknown): boolean => error instanceof RideApiError && error.code === 'TOKEN_REJECTED';

/** Two would do, but the service may have ended the second one together with the first. The lease sees to it that calls which are rejected
 *  whatever the token cost few requests. */
const mostTokens = 3;

/** Repeats the call with another token after a 401 (given). */
export function createAuthorizedCall(ports: AuthorizedCallPorts): AuthorizedCall {
  const { tokens, quietTimes, usage, mostWaiting = Number.POSITIVE_INFINITY, now = Date.now } = ports;
  const waiting = new Map<AccountName, number>();

  /** The token for a call that holds a slot. The token request of the account needs one, too, so a crowd must not hold all of them. */
  async function getWithSlot(...wanted: Parameters<TokenSource['get']>): Promise<AccessToken> {
    const [{ name }] = wanted;
    const others = waiting.get(name) ?? 0;
    if (others >= mostWaiting) throw new QuietTime(crowdTurnMs);
    waiting.set(name, others + 1);
    return await tokens.get(...wanted).finally(() => waiting.set(name, (waiting.get(name) ?? 1) - 1));
  }

  return async (account, scope, send, { isPoll = false, forPerson = false } = {}) => {
    const check = (): void => {
      if (!forPerson) quietTimes.check(account.name);
    };
    check();
    const askedAt = now();
    const getToken = isPoll ? tokens.get : getWithSlot; // polls hold no slot
    let token = await getToken(account, scope);
    if (now() - askedAt > longestTokenWaitMs) throw new QuietTime(anotherTurnMs);
    check(); // a wait may have begun meanwhile
    if (!isPoll) usage?.count(account.name);
    for (let left = mostTokens; ; left -= 1) {
      try {
        return await send(token.value);
      } catch (error) {
        if (error instanceof RideApiError && error.retryAfterMs !== undefined) {
          quietTimes.begin(account.name, error.retryAfterMs);
        }
        if (!isTokenRejected(error) || left === 1) throw error;
      }
      token = await getToken(account, scope, token.id);
    }
  };
}
