import { activityInfo } from '@temporalio/activity';
import type { MonotonicClock } from '../clock.js';

/** The clock of Temporal's server, as far as this process knows it. */
export type TemporalClock = ReturnType<typeof createTemporalClock>;

/** How long a sample counts: a clock that was wrong, of the server or of a machine, is forgotten within this time. */
export const sampleLivesMs = 20_000;
const bucketMs = 1_000;

/**
 * See `TemporalClock`. A sample is an instant that the server gave with a task, so the server's clock is at least there. The best
 * sample of the last seconds counts. The wall clock of this process is not used, nor an instant that a memo holds.
 * A machine that slept may have stopped the monotonic clock meanwhile: the estimate is then too early until the next sample.
 */
export function createTemporalClock(monotonic: MonotonicClock) {
  /** The server's clock minus the monotonic one, at least; the best of each second. */
  let samples: { at: number; offsetMs: number }[] = [];

  const dropOld = (): void => {
    samples = samples.filter(({ at }) => monotonic() - at < sampleLivesMs);
  };

  return {
    /** `passedAt`: an instant of the server that has passed; undefined: none is known. */
    add(passedAt: number | undefined): void {
      if (passedAt === undefined || !Number.isFinite(passedAt)) return;
      const at = monotonic();
      const offsetMs = passedAt - at;
      const last = samples.at(-1);
      if (last !== undefined && at - last.at < bucketMs) last.offsetMs = Math.max(last.offsetMs, offsetMs);
      else {
        dropOld();
        samples.push({ at, offsetMs });
      }
    },

    /** How long ago this instant was, at least; negative: it may be still to come. Undefined: there is no sample. */
    sinceAtLeast(instant: number): number | undefined {
      dropOld();
      if (samples.length === 0) return undefined;
      return Math.max(...samples.map(({ offsetMs }) => offsetMs)) + monotonic() - instant;
    },
  };
}

/** After a crash of the server, an attempt may start so long before it is due. */
const mostBeforeDueMs = 60_000;

/** An instant of the server that has passed, from the activity under way. Undefined for polls, which belong to no activity. */
export function passedAtServer(): number | undefined {
  try {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
    return Math.max(scheduledTimestampMs, currentAttemptScheduledTimestampMs - mostBeforeDueMs);
  } catch {
    return undefined;
  }
}
