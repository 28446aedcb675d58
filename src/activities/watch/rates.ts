import { type MonotonicClock, monotonicMs } from '../../clock.js';
import type { AccountName } from '../../domain/keys.js';

/** Requests per second of each account, as a mean over about a second. */
export type Usage = ReturnType<typeof createUsage>;

const meanMs = 1_000;

/** See `Usage`. */
export function createUsage(monotonic: MonotonicClock = monotonicMs) {
  const means = new Map<AccountName, { perSecond: number; at: number }>();
  const perSecond = (account: AccountName): number => {
    const mean = means.get(account);
    return mean === undefined ? 0 : mean.perSecond * Math.exp(-Math.max(0, monotonic() - mean.at) / meanMs);
  };
  return {
    perSecond,
    count(account: AccountName): void {
      means.set(account, { perSecond: perSecond(account) + 1_000 / meanMs, at: monotonic() });
    },
  };
}

/** When something may be done once more, at a rate that may change. */
export type Turns = ReturnType<typeof createTurns>;

/** See `Turns`. Each turn waits for the one before it, by the rate of the moment. Turns not taken in the last `catchUpMs` are made up for. */
export function createTurns(perSecond: () => number, catchUpMs: number, monotonic: MonotonicClock) {
  let lastAt = Number.NEGATIVE_INFINITY;
  const nextAt = (): number => lastAt + 1_000 / perSecond();
  const waitMs = (): number => Math.max(0, nextAt() - monotonic());
  return {
    waitMs,
    /** False: the turn has not come yet. */
    take(): boolean {
      if (waitMs() > 0) return false;
      lastAt = Math.max(nextAt(), monotonic() - catchUpMs);
      return true;
    },
  };
}
