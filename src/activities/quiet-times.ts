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
}

/** Kept in the memory of the process: another worker learns it by a call of its own. */
export function createQuietTimes(now: () => number = Date.now): QuietTimes {
  const until = new Map<AccountName, number>();
  return {
    check(account) {
      const leftMs = (until.get(account) ?? 0) - now();
      if (leftMs > 0) throw new QuietTime(leftMs);
    },
    begin(account, forMs) {
      until.set(account, Math.max(until.get(account) ?? 0, now() + forMs));
    },
  };
}
