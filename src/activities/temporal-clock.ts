import { monotonicMs } from '../clock.js';

/** The clock of Temporal's server, as far as its tasks tell it to this process. */
export type TemporalClock = ReturnType<typeof createTemporalClock>;

/** A wrong instant is forgotten after this time, so that a clock that was wrong once does no harm once it is right. */
const believedMs = 20_000;
const bucketMs = 1_000;

/**
 * Estimates the server's time from instants that have passed there, such as the moment at which it scheduled a task. Each is a lower bound;
 * the highest of the last 20 seconds counts. The wall clock of this machine, memos and answers of the service have no say.
 */
export function createTemporalClock(elapsed: () => number = monotonicMs) {
  /** By second of the monotonic clock: how far the server's clock is ahead of it, at least. */
  const leads = new Map<number, number>();
  return {
    /** An instant of the server that has passed, in epoch milliseconds. */
    note(passedAt: number): void {
      const at = elapsed();
      const bucket = Math.floor(at / bucketMs);
      leads.set(bucket, Math.max(leads.get(bucket) ?? Number.NEGATIVE_INFINITY, passedAt - at));
      for (const one of leads.keys()) if (one * bucketMs < at - believedMs) leads.delete(one);
    },
    /** The time at the server or a moment before, in epoch milliseconds; undefined while no task has told it lately. */
    now(): number | undefined {
      const at = elapsed();
      const recent = [...leads].filter(([bucket]) => bucket * bucketMs >= at - believedMs);
      return recent.length === 0 ? undefined : at + Math.max(...recent.map(([, lead]) => lead));
    },
  };
}
