import type { AccountName } from '../../domain/keys.js';
import { pollsPerSecond } from '../../domain/watch.js';

/** Requests per second of each account, as a mean over about a second. */
export type Usage = ReturnType<typeof createUsage>;

const meanMs = 1_000;

/** See `Usage`. */
export function createUsage(now: () => number = Date.now) {
  const means = new Map<AccountName, { perSecond: number; at: number }>();
  const perSecond = (account: AccountName): number => {
    const mean = means.get(account);
    return mean === undefined ? 0 : mean.perSecond * Math.exp(-Math.max(0, now() - mean.at) / meanMs);
  };
  return {
    perSecond,
    count(account: AccountName): void {
      means.set(account, { perSecond: perSecond(account) + 1_000 / meanMs, at: now() });
    },
  };
}

/** When the watch of an account may send its next poll. */
export type Share = ReturnType<typeof createShare>;

/** A late timer is made up for by so much, and no more: a process that was paused must not send all at once. */
const catchUpMs = 50;

/** See `Share`. Each poll waits for the one before it, by the rate of the moment. */
export function createShare(budget: number, standing: () => { used: number; isOnlyOne: boolean }, now: () => number) {
  let lastAt = Number.NEGATIVE_INFINITY;
  const nextAt = (): number => lastAt + 1_000 / pollsPerSecond(budget, standing());
  return {
    waitMs: (): number => Math.max(0, nextAt() - now()),
    take(): void {
      lastAt = Math.max(nextAt(), now() - catchUpMs);
    },
  };
}
