// Of events back to what they were written for.
import type { Attributes, Event } from '../sdk/history.js';
import { fireAfter } from './commands.js';
import type { ActivityOrder, Execution } from './execution.js';
import type { Namespace } from './namespace.js';

type ProtoDuration = { seconds?: unknown; nanos?: number | null } | null | undefined;

const msOf = (given: ProtoDuration): number | null =>
  given ? Number(given.seconds ?? 0) * 1_000 + Math.round((given.nanos ?? 0) / 1e6) : null;

export function orderFrom(scheduled: Attributes<'activityTaskScheduled'>): ActivityOrder {
  const { retryPolicy } = scheduled;
  return {
    seq: Number(scheduled.activityId),
    activityId: scheduled.activityId ?? '',
    activityType: scheduled.activityType?.name ?? '',
    arguments: scheduled.input?.payloads ?? [],
    headers: scheduled.header?.fields ?? {},
    taskQueue: scheduled.taskQueue?.name ?? '',
    retry: {
      initialMs: msOf(retryPolicy?.initialInterval) ?? 1_000,
      coefficient: retryPolicy?.backoffCoefficient ?? 2,
      maximumMs: msOf(retryPolicy?.maximumInterval) ?? 100_000,
      attempts: retryPolicy?.maximumAttempts ?? 0,
    },
    heartbeatMs: msOf(scheduled.heartbeatTimeout) || null,
    scheduleToStartMs: msOf(scheduled.scheduleToStartTimeout) || null,
    scheduleToCloseMs: msOf(scheduled.scheduleToCloseTimeout) || null,
    startToCloseMs: msOf(scheduled.startToCloseTimeout) || Number.POSITIVE_INFINITY,
    priority: scheduled.priority?.priorityKey ?? 3,
  };
}

/** A timer that was started before a reset fires when it would have: by the time of its event. */
export function startTimerAgain(namespace: Namespace, execution: Execution, id: string, event: Event): void {
  const ms = msOf(event.timerStartedEventAttributes?.startToFireTimeout) ?? 0;
  const startedMs = msOf(event.eventTime) ?? 0;
  const timer = { id, startedId: Number(event.eventId) };
  execution.timers.set(id, timer);
  fireAfter(namespace, execution, timer, Math.max(0, startedMs + ms - namespace.scheduler.now));
}
