import type { MonotonicClock } from '../clock.js';
import type { Account } from '../domain/account.js';
import type { AccountName } from '../domain/keys.js';
import { shares } from '../domain/shares.js';

interface UnprovenReadsPorts {
  /** How many processes make calls for the account. */
  processes(account: AccountName): Promise<number>;
  monotonic: MonotonicClock;
}

/** See `createUnprovenReads`. */
export type UnprovenReads = ReturnType<typeof createUnprovenReads>;

/** As often as a watch counts them. */
const countEveryMs = 60_000;
/** Until they were counted. */
const processesAtFirst = 2;
/** A bound for memory: a read that does not come back leaves its turn behind. */
const mostTurns = 10_000;

/**
 * Gives turns to the reads of orders that only deliveries without a proof name: at most a tenth of the account's requests, over all its
 * processes. Whoever knows an address can invent such orders.
 */
export function createUnprovenReads({ processes, monotonic }: UnprovenReadsPorts) {
  const accounts = new Map<AccountName, { lastAt: number; processes: number; countedAt: number }>();
  /** When a read may be made, by its id. */
  const turns = new Map<string, number>();

  function stateOf(name: AccountName) {
    const never = Number.NEGATIVE_INFINITY;
    const state = accounts.get(name) ?? { lastAt: never, processes: processesAtFirst, countedAt: never };
    accounts.set(name, state);
    return state;
  }

  /** In the background; a count that fails changes nothing. */
  function count(name: AccountName): void {
    const state = stateOf(name);
    if (monotonic() - state.countedAt < countEveryMs) return;
    state.countedAt = monotonic();
    const counted = (found: number): number => (state.processes = Math.max(1, found));
    processes(name).then(counted, () => undefined);
  }

  function nextTurn({ name, requestsPerSecond }: Account): number {
    const { ofBudget, burstMs } = shares.unprovenReads;
    const state = stateOf(name);
    const everyMs = (1_000 * state.processes) / (requestsPerSecond * ofBudget);
    state.lastAt = Math.max(state.lastAt + everyMs, monotonic() - burstMs);
    return state.lastAt;
  }

  return {
    /** How long the read with this id has to wait; 0: it is made now. One that waits keeps its turn. */
    waitMs(account: Account, readId: string): number {
      count(account.name);
      const turn = turns.get(readId) ?? nextTurn(account);
      turns.delete(readId);
      const waitMs = turn - monotonic();
      if (waitMs <= 0) return 0;
      if (turns.size >= mostTurns) turns.clear();
      turns.set(readId, turn);
      return waitMs;
    },
  };
}
