// Activities: attempts, retries and timeouts (service/history/workflow/mutable_state_impl.go and retry.go).
import type { Payload, ProtoFailure } from '@temporalio/common';
import { msOf } from '../sdk/times.js';
import type { ActivityOrder, Execution, PendingActivity, Poller, StartedActivity } from './execution.js';
import { grpcError } from './grpc.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { settleSpeculative, tell } from './scheduling.js';

// temporal.api.enums.v1
const timeoutTypes = { START_TO_CLOSE: 1, SCHEDULE_TO_START: 2, SCHEDULE_TO_CLOSE: 3, HEARTBEAT: 4 } as const;
type TimeoutType = keyof typeof timeoutTypes;
const timeoutNames: Record<TimeoutType, string> = {
  START_TO_CLOSE: 'StartToClose',
  SCHEDULE_TO_START: 'ScheduleToStart',
  SCHEDULE_TO_CLOSE: 'ScheduleToClose',
  HEARTBEAT: 'Heartbeat',
};
const retryStates = { NON_RETRYABLE_FAILURE: 2, TIMEOUT: 3, MAXIMUM_ATTEMPTS_REACHED: 4, CANCEL_REQUESTED: 7 } as const;
type RetryState = keyof typeof retryStates;

export function scheduleActivity(
  namespace: Namespace,
  execution: Execution,
  order: ActivityOrder,
  scheduledId: number,
): void {
  const { now } = namespace.scheduler;
  const activity: PendingActivity = {
    ...order,
    scheduledId,
    scheduledMs: now,
    attemptMs: now,
    attempt: 1,
    state: 'scheduled',
    stamp: 1,
    starts: 0,
    startedMs: 0,
    startedBy: null,
    heartbeat: null,
    heartbeatMsAt: 0,
    lastFailure: null,
    cancelRequestedId: null,
    isPaused: false,
    isReset: false,
  };
  execution.activities.set(scheduledId, activity);
  offer(namespace, execution, activity);
  const isOpen = () => isPending(execution, activity);
  const { scheduleToStartMs, scheduleToCloseMs } = order;
  if (scheduleToStartMs !== null)
    namespace.scheduler.after(scheduleToStartMs, () => {
      if (isOpen() && activity.state === 'scheduled' && activity.attempt === 1)
        timeOut(namespace, execution, activity, 'SCHEDULE_TO_START');
    });
  if (scheduleToCloseMs !== null)
    namespace.scheduler.after(scheduleToCloseMs, () => {
      if (isOpen()) timeOut(namespace, execution, activity, 'SCHEDULE_TO_CLOSE');
    });
}

const isPending = (execution: Execution, activity: PendingActivity): boolean =>
  execution.isOpen && execution.activities.get(activity.scheduledId) === activity;

/** Adds the attempt to its task queue. */
export function offer(namespace: Namespace, execution: Execution, activity: PendingActivity): void {
  const { stamp } = activity;
  activity.state = 'scheduled';
  activity.attemptMs = namespace.scheduler.now;
  const isMine = () =>
    isPending(execution, activity) && activity.stamp === stamp && activity.state === 'scheduled' && !activity.isPaused;
  namespace.matching.give('activity', activity.taskQueue, {
    isWanted: isMine,
    start: (poller) => start(namespace, execution, activity, poller),
  });
}

function start(namespace: Namespace, execution: Execution, activity: PendingActivity, poller: Poller): void {
  const { startToCloseMs, heartbeatMs, attempt } = activity;
  const { scheduler } = namespace;
  execution.activityAttempts += 1;
  const starts = activity.starts + 1;
  Object.assign(activity, {
    state: 'started',
    starts,
    startedMs: scheduler.now,
    startedBy: poller,
    heartbeatMsAt: scheduler.now,
  });
  const isMine = () => isPending(execution, activity) && activity.starts === starts && activity.state === 'started';
  if (Number.isFinite(startToCloseMs))
    scheduler.after(startToCloseMs, () => {
      if (isMine()) timeOut(namespace, execution, activity, 'START_TO_CLOSE');
    });
  const listen = (): void => {
    if (!isMine() || heartbeatMs === null) return;
    const silentMs = scheduler.now - activity.heartbeatMsAt;
    if (silentMs >= heartbeatMs) timeOut(namespace, execution, activity, 'HEARTBEAT');
    else scheduler.after(heartbeatMs - silentMs, listen);
  };
  listen();
  namespace.matching.handActivity(poller, { execution, activity, starts, attempt });
}

/** Is this attempt still running, as far as the server knows? After a reset it has another number, and is unknown. */
const isAwaited = ({ execution, activity, starts, attempt }: StartedActivity): boolean =>
  isPending(execution, activity) &&
  activity.starts === starts &&
  activity.attempt === attempt &&
  activity.state === 'started';

/** The answer to a heartbeat: why the attempt has to end, if it has to. */
export interface HeartbeatAnswer {
  notFound?: true;
  cancelRequested?: boolean;
  paused?: boolean;
  reset?: boolean;
}

export function heartbeat(namespace: Namespace, started: StartedActivity, details: Payload[]): HeartbeatAnswer {
  if (!isAwaited(started)) return { notFound: true };
  const { activity } = started;
  activity.heartbeat = details;
  activity.heartbeatMsAt = namespace.scheduler.now;
  return {
    cancelRequested: activity.cancelRequestedId !== null,
    paused: activity.isPaused,
    reset: activity.isReset,
  };
}

export function completeActivity(namespace: Namespace, started: StartedActivity, result: Payload | undefined): void {
  if (!isAwaited(started)) return;
  const { execution, activity } = started;
  end(execution, activity);
  tell(namespace, execution, 'activityTaskCompleted', {
    ...idsOf(activity),
    result: { payloads: result ? [result] : [] },
  });
}

/** Completes an activity that its worker has left open, or that no worker has started yet. */
export function completeById(
  namespace: Namespace,
  execution: Execution,
  { activityId, result, identity }: { activityId: string; result: Payload | undefined; identity: string },
): void {
  const activity = [...execution.activities.values()].find((one) => one.activityId === activityId);
  if (!activity) throw grpcError('NOT_FOUND', `no activity ${activityId}`);
  if (activity.state !== 'started')
    Object.assign(activity, { startedBy: { identity }, startedMs: namespace.scheduler.now });
  end(execution, activity);
  tell(namespace, execution, 'activityTaskCompleted', {
    ...idsOf(activity),
    identity,
    result: { payloads: result ? [result] : [] },
  });
}

export function failActivity(namespace: Namespace, started: StartedActivity, failure: ProtoFailure): void {
  if (!isAwaited(started)) return;
  retryOrEnd(namespace, started.execution, started.activity, failure);
}

/** The worker reports that the attempt was cancelled. */
export function reportCancelled(namespace: Namespace, started: StartedActivity): void {
  if (!isAwaited(started)) return;
  const { execution, activity } = started;
  if (activity.cancelRequestedId === null) return;
  end(execution, activity);
  tell(namespace, execution, 'activityTaskCanceled', {
    ...idsOf(activity),
    latestCancelRequestedEventId: longOf(activity.cancelRequestedId),
  });
}

/** Requests cancellation. If no worker has started the attempt, the activity ends at once. */
export function cancelActivity(namespace: Namespace, execution: Execution, seq: number, completedId: number): void {
  const activity = [...execution.activities.values()].find((one) => one.seq === seq);
  const scheduledId = activity?.scheduledId ?? 0;
  const about = { scheduledEventId: longOf(scheduledId), workflowTaskCompletedEventId: longOf(completedId) };
  const requestedId = execution.history.write('activityTaskCancelRequested', about, namespace.scheduler.now);
  if (!activity || activity.cancelRequestedId !== null) return;
  activity.cancelRequestedId = requestedId;
  if (activity.state === 'started') return;
  execution.activities.delete(scheduledId);
  const details = {
    details: {
      payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"ACTIVITY_ID_NOT_STARTED"') }],
    },
  };
  execution.history.buffer(
    'activityTaskCanceled',
    { ...idsOf(activity), latestCancelRequestedEventId: longOf(requestedId), ...details },
    namespace.scheduler.now,
  );
}

function timeOut(namespace: Namespace, execution: Execution, activity: PendingActivity, type: TimeoutType): void {
  const failure: ProtoFailure = {
    message: `activity ${timeoutNames[type]} timeout`,
    source: 'Server',
    timeoutFailureInfo: {
      timeoutType: timeoutTypes[type],
      ...(activity.heartbeat ? { lastHeartbeatDetails: { payloads: activity.heartbeat } } : {}),
    },
  };
  namespace.count(`activity ${type}`);
  retryOrEnd(namespace, execution, activity, failure, type);
}

function retryOrEnd(
  namespace: Namespace,
  execution: Execution,
  activity: PendingActivity,
  failure: ProtoFailure,
  timeout?: TimeoutType,
): void {
  const next = nextAttempt(namespace, activity, failure);
  if (typeof next === 'number') {
    const wasStarted = activity.state === 'started';
    activity.lastFailure = failure;
    activity.isReset = false;
    activity.attempt += wasStarted ? 1 : 0;
    activity.stamp += 1;
    activity.state = 'backoff';
    const { stamp } = activity;
    if (activity.isPaused) return;
    namespace.scheduler.after(next, () => {
      if (isPending(execution, activity) && activity.stamp === stamp && activity.state === 'backoff')
        offer(namespace, execution, activity);
    });
    return;
  }
  const wasStarted = activity.state === 'started';
  end(execution, activity, wasStarted);
  const retryState = retryStates[next];
  if (!timeout) {
    tell(namespace, execution, 'activityTaskFailed', { ...idsOf(activity), failure, retryState });
    return;
  }
  const cause = activity.lastFailure && timeout.startsWith('SCHEDULE') ? { cause: activity.lastFailure } : {};
  tell(namespace, execution, 'activityTaskTimedOut', {
    ...idsOf(activity),
    failure: { ...failure, ...cause },
    retryState,
  });
}

/** Milliseconds until the next attempt, or the reason why there is none. */
function nextAttempt(namespace: Namespace, activity: PendingActivity, failure: ProtoFailure): number | RetryState {
  const { retry, attempt, scheduleToCloseMs, scheduledMs, cancelRequestedId } = activity;
  if (cancelRequestedId !== null) return 'CANCEL_REQUESTED';
  const timeoutType = failure.timeoutFailureInfo?.timeoutType;
  if (timeoutType === timeoutTypes.SCHEDULE_TO_START || timeoutType === timeoutTypes.SCHEDULE_TO_CLOSE)
    return 'TIMEOUT';
  const { nonRetryable, nextRetryDelay } = failure.applicationFailureInfo ?? {};
  if (nonRetryable || failure.canceledFailureInfo || failure.terminatedFailureInfo) return 'NON_RETRYABLE_FAILURE';
  if (activity.isPaused) return 0;
  if (retry.attempts > 0 && attempt >= retry.attempts) return 'MAXIMUM_ATTEMPTS_REACHED';
  const own = nextRetryDelay ? msOf(nextRetryDelay) : undefined;
  if (own !== undefined && own <= 0) return 'TIMEOUT';
  const delay = own ?? Math.min(retry.initialMs * retry.coefficient ** (attempt - 1), retry.maximumMs);
  const isTooLate = scheduleToCloseMs !== null && namespace.scheduler.now + delay > scheduledMs + scheduleToCloseMs;
  return isTooLate ? 'TIMEOUT' : delay;
}

/** Removes the activity. The event for the start of its last attempt is written only now. */
function end(execution: Execution, activity: PendingActivity, wasStarted = true): void {
  execution.activities.delete(activity.scheduledId);
  if (!wasStarted) return;
  settleSpeculative(execution);
  const { scheduledId, attempt, lastFailure, startedBy, startedMs } = activity;
  const about = { scheduledEventId: longOf(scheduledId), attempt, lastFailure, identity: startedBy?.identity ?? '' };
  execution.record('activityTaskStarted', about, startedMs);
}

const idsOf = ({ scheduledId, startedBy }: PendingActivity) => ({
  scheduledEventId: longOf(scheduledId),
  startedEventId: longOf(0),
  identity: startedBy?.identity ?? '',
});
