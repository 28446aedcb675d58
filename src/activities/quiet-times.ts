import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';

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
