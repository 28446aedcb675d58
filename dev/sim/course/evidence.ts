// Checks and bounds that the judges of all scenarios share.
import { type ServiceError, status } from '@grpc/grpc-js';
import { isGrpcServiceError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Execution } from '../server/execution.js';
import { type Disturbance, lastsMs } from './disturbances.js';

const minute = 60_000;
/** Retries, and workers that take over, have had their time this long after a disturbance has passed. */
const recoveryMs = 25 * minute;

/** The first instant, from `instant` on, that no disturbance, reset or mistaken end follows within `ms`. */
export function calmFrom(
  {
    startedAt,
    plan: { disturbances, deeds },
  }: {
    startedAt: number;
    plan: { disturbances: readonly Disturbance[]; deeds: readonly { atMs: number; kind: string }[] };
  },
  instant: number,
  ms: number,
): number {
  const restarts = deeds.filter(({ kind }) => kind === 'reset' || kind === 'endedByMistake');
  const periods = [
    ...disturbances.map((one) => ({ from: startedAt + one.atMs, lastsMs: lastsMs(one) })),
    ...restarts.map(({ atMs }) => ({ from: startedAt + atMs, lastsMs: 0 })),
  ].sort((one, other) => one.from - other.from);
  let from = instant;
  for (const period of periods) {
    const until = period.from + period.lastsMs + recoveryMs;
    if (period.from < from + ms && from < until) from = until;
  }
  return from;
}

/** The result of a completed run; null for any other. */
export function resultOf<Result>(run: Execution | undefined): Result | null {
  const result = run?.events.at(-1)?.workflowExecutionCompletedEventAttributes?.result?.payloads?.[0];
  return result ? (JSON.parse(Buffer.from(result.data ?? []).toString()) as Result) : null;
}

/**
 * The most attempts of activities that so many causes explain. `perCause` is about half more than was ever seen. While
 * calls fail, an activity is retried every ten seconds.
 */
export function mostAttempts(causes: number, perCause: number, disturbances: readonly Disturbance[]): number {
  const failing = disturbances.reduce((sum, one) => sum + (one.kind === 'callsFail' ? lastsMs(one) : 0), 0);
  return 10 + perCause * causes + failing / 10_000;
}

/** Failures by which Temporal says that a run closed, or failed a task, although an update waited for its answer. */
const carelessTypes = ['AcceptedUpdateCompletedWorkflow', 'UnprocessedUpdate'];

/** Did an update end without an answer because the run was careless, and not because of a fault on the way? */
export function isCareless(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : {};
  if (cause instanceof ApplicationFailure) return carelessTypes.includes(cause.type ?? '');
  return isGrpcServiceError(cause ?? error) && ((cause ?? error) as ServiceError).code === status.FAILED_PRECONDITION;
}
