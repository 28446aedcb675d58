import type { PollEvents } from '../../src/activities/watch/polls.js';
import type { WatchState } from './worker-process.js';

const longestMs = 600_000;

/** Counts the polls of a process; lateness by the millisecond, so that its memory does not grow. */
export function createPollCounts() {
  const late = new Uint32Array(longestMs + 1);
  const nothing = (): Omit<WatchState, 'orders' | 'late'> => ({
    polls: { unchanged: 0, changed: 0, failed: 0 },
  });
  let counts = nothing();
  const events: PollEvents = {
    polled(_account, outcome, lateMs) {
      counts.polls[outcome] += 1;
      const ms = Math.min(longestMs, Math.max(0, Math.round(lateMs)));
      late[ms] = (late[ms] ?? 0) + 1;
    },
  };
  return {
    events,
    /** What came since the last call. */
    take(): Omit<WatchState, 'orders'> {
      const taken = { ...counts, late: { p50: at(0.5), p99: at(0.99), max: at(1) } };
      counts = nothing();
      late.fill(0);
      return taken;
    },
  };

  /** The lateness that this share of the polls does not exceed. */
  function at(share: number): number {
    const total = late.reduce((sum, count) => sum + count, 0);
    let below = 0;
    return total === 0
      ? Number.NaN
      : late.findIndex((count) => {
          below += count;
          return below >= share * total;
        });
  }
}
