/*
 * How often one process signals one run. Temporal delivers all waiting signals of a run in one workflow task. The SDK
 * needs about half a millisecond for each, and a task of five seconds ends the worker process, so thousands of signals
 * must never accumulate, however long no worker runs. After the first few signals each one waits longer, and carries
 * everything that arrived meanwhile.
 */

/** A ride has some eight changes, and a delivery may come twice, spread over half an hour. */
const atOnce = 10;
const windowMs = 600_000;
/** The pause before the next signal grows by this with each signal of the last ten minutes beyond the first few. */
const pauseStepMs = 2_000;
/**
 * Together with the step: at most 37 signals in any ten minutes (36 in the first ten, then 23 or 24 in a flood without
 * end).
 */
const longestPauseMs = 30_000;

/**
 * Time until the next signal to a run, in milliseconds. `sentAt`: earlier signals, oldest first, by the clock of `now`.
 */
export function msToSignal(sentAt: readonly number[], now: number): number {
  const last = sentAt.at(-1);
  if (last === undefined) return 0;
  const recent = sentAt.filter((at) => at > now - windowMs).length;
  if (recent < atOnce) return 0;
  return Math.max(0, last + Math.min(longestPauseMs, (recent - atOnce + 1) * pauseStepMs) - now);
}

/** The times that still count, with one more. */
export const withSignal = (sentAt: readonly number[], now: number): number[] => [
  ...sentAt.filter((at) => at > now - windowMs),
  now,
];

/**
 * About 20 MB. Beyond that the least recently signalled runs are forgotten, and may get their first few signals again.
 */
const mostRuns = 100_000;

/** Remembers the signals of this process to each run for ten minutes. */
export type SignalPace = ReturnType<typeof createSignalPace>;

/** See `SignalPace`. `now`: milliseconds of a clock that never goes back. */
export function createSignalPace(now: () => number) {
  /** The run that was signalled longest ago comes first. */
  const runs = new Map<string, number[]>();

  function forgetOld(): void {
    for (const [id, sentAt] of runs) {
      if (runs.size <= mostRuns && (sentAt.at(-1) ?? 0) > now() - windowMs) return;
      runs.delete(id);
    }
  }

  return {
    /** How long until the run may get its next signal, in milliseconds. */
    waitMs: (workflowId: string): number => msToSignal(runs.get(workflowId) ?? [], now()),
    /** The run gets a signal now. Gives how to take that back, if the signal cannot have reached it. */
    count(workflowId: string): () => void {
      const before = runs.get(workflowId) ?? [];
      const at = now();
      runs.delete(workflowId);
      runs.set(workflowId, withSignal(before, at));
      forgetOld();
      return () => {
        const sentAt = runs.get(workflowId) ?? [];
        const place = sentAt.lastIndexOf(at);
        if (place >= 0) runs.set(workflowId, sentAt.toSpliced(place, 1));
        if (sentAt.length === 1 && place === 0) runs.delete(workflowId);
      };
    },
    /** The number of runs that it remembers. */
    size: (): number => runs.size,
  };
}
