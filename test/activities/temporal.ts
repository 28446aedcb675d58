import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';

export const second = 1_000;
export const minute = 60 * second;
/** When the stages begin. */
export const start = Date.parse('2031-05-01T10:00:00.000Z');
export const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** Failed attempts are what these tests are about. */
export const logger = new DefaultLogger('ERROR');

/** What became of one attempt of an activity. */
export interface Attempt<Seen> {
  seen?: Seen;
  failure?: ApplicationFailure;
  error?: unknown;
  /** In their order; the server keeps the last. */
  heartbeats: unknown[];
}

/** One attempt, as a worker makes it. */
export async function attemptOnce<Seen>(info: Partial<Info>, act: () => Promise<Seen>): Promise<Attempt<Seen>> {
  const environment = new MockActivityEnvironment(info, { logger });
  const heartbeats: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => heartbeats.push(JSON.parse(JSON.stringify(details ?? null))));
  try {
    return { seen: await environment.run(act), heartbeats };
  } catch (error) {
    return error instanceof ApplicationFailure ? { failure: error, error, heartbeats } : { error, heartbeats };
  }
}

/** Repeats as Temporal does, heartbeat details included, until the activity completes or fails for good, or `untilMs` have passed. */
export async function repeatAttempts<One extends Attempt<unknown>>(
  clock: { now: number },
  { untilMs = 3_600_000, heartbeatDetails: left }: { untilMs?: number | undefined; heartbeatDetails?: unknown },
  attempt: (info: Partial<Info>) => Promise<One>,
  pauseOf = delayOf,
): Promise<One[]> {
  const attempts: One[] = [];
  const scheduledTimestampMs = clock.now;
  let heartbeatDetails = left;
  for (const end = clock.now + untilMs; clock.now <= end; ) {
    const one = await attempt({ attempt: attempts.length + 1, heartbeatDetails, scheduledTimestampMs });
    attempts.push(one);
    if (one.heartbeats.length > 0) heartbeatDetails = one.heartbeats.at(-1);
    if (!one.failure || one.failure.nonRetryable) break;
    clock.now += pauseOf(one);
  }
  return attempts;
}

/** The delay before the next attempt. Temporal ends an activity that asks for none. */
export function delayOf({ failure }: Attempt<unknown>): number {
  const delay = failure?.nextRetryDelay;
  if (typeof delay !== 'number' || !Number.isInteger(delay) || delay < 1) throw new Error(`delay of ${String(delay)}`);
  return delay;
}
