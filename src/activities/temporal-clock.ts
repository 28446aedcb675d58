import { activityInfo, type Info } from '@temporalio/activity';
import { ageMs, leftMs, type MonotonicClock, type WallClock, wallMs } from '../clock.js';

/** The clock of Temporal's server, as far as this process knows it. */
export type TemporalClock = ReturnType<typeof createTemporalClock>;

/** Lifetime of a sample. It bounds how long a wrong clock, of the server or of this machine, has an effect. */
export const sampleLivesMs = 20_000;
const bucketMs = 1_000;

/**
 * See `TemporalClock`. Each sample is an instant that the server attached to a task, so it is a lower bound of the
 * server's clock. The best recent sample counts. The wall clock of this process and instants in memos are never used.
 * If the machine sleeps, the monotonic clock may stop, and the estimate lags until the next sample.
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

    /** Minimum age of this instant in milliseconds; negative if it may be in the future. Undefined without a sample. */
    sinceAtLeast(instant: number): number | undefined {
      dropOld();
      if (samples.length === 0) return undefined;
      return Math.max(...samples.map(({ offsetMs }) => offsetMs)) + monotonic() - instant;
    },
  };
}

/**
 * A past instant on the server's clock: when the current activity was scheduled. Undefined outside an activity, as in
 * polls. A retry's due time would be no such instant, because a server that has crashed starts retries early.
 */
export function passedAtServer(): number | undefined {
  return timesOfActivity()?.scheduledTimestampMs;
}

/** When the current attempt was due, on the server's clock. Undefined outside an activity. */
export function dueAtServer(): number | undefined {
  return timesOfActivity()?.currentAttemptScheduledTimestampMs;
}

function timesOfActivity(): Info | undefined {
  try {
    return activityInfo();
  } catch {
    return undefined;
  }
}

/** Where an attempt of an activity runs. */
export type AttemptPlace = Pick<Info, 'activityId'> & { workflowId: string; runId: string };

interface ServerTimePorts {
  server: Pick<TemporalClock, 'sinceAtLeast'>;
  /** When the server handed out the current attempt, by its clock; undefined: it does not say. */
  attemptStartedAt(place: AttemptPlace): Promise<number | undefined>;
  now?: WallClock;
}

/** Receivers allow five minutes (Standard Webhooks 1.0). */
const plausibleMs = 60_000;

/**
 * Makes the reader of Temporal's clock for instants that others compare with their own clocks. An attempt starts when it
 * is due, unless it has waited for a worker, or a server that crashed started it early. Both look like a wall clock that
 * is wrong, so the server is asked then.
 */
export const createServerTime =
  ({ server, attemptStartedAt, now = wallMs }: ServerTimePorts) =>
  async (): Promise<number> => {
    const info = timesOfActivity();
    const dueAt = info?.currentAttemptScheduledTimestampMs;
    if (dueAt === undefined) return now();
    const atLeast = Math.max(dueAt, server.sinceAtLeast(0) ?? dueAt);
    if (Math.max(ageMs(atLeast, now), leftMs(atLeast, now)) < plausibleMs) return atLeast;
    const { activityId, workflowExecution } = info ?? {};
    if (activityId === undefined || workflowExecution === undefined) return atLeast;
    const startedAt = await attemptStartedAt({ activityId, ...workflowExecution }).catch(() => undefined);
    return startedAt ?? atLeast;
  };
