// The options of a scheduled activity: from the command to the event, and back.
import type { Payload } from '@temporalio/common';
import type { Attributes } from '../sdk/history.js';
import { msOf, type ProtoTime } from '../sdk/times.js';
import type { ActivityOrder, Execution } from './execution.js';
import { longOf, timeOf } from './history.js';

/** The fields of the command that the simulation uses. */
export interface ScheduleActivity {
  activityId: string;
  activityType: string;
  arguments: Payload[];
  headers: Record<string, Payload>;
  taskQueue: string;
  retryPolicy?: {
    initialInterval?: ProtoTime;
    maximumInterval?: ProtoTime;
    backoffCoefficient?: number;
    maximumAttempts?: number;
  };
  heartbeatTimeout?: ProtoTime;
  scheduleToStartTimeout?: ProtoTime;
  scheduleToCloseTimeout?: ProtoTime;
  startToCloseTimeout?: ProtoTime;
  priority?: Attributes<'activityTaskScheduled'>['priority'];
}

const optionalTime = (given: ProtoTime) => (given ? timeOf(msOf(given)) : null);

/** The attributes of the event, with the server's defaults. */
export function scheduledAttributes(
  command: ScheduleActivity,
  execution: Execution,
  completedId: number,
): Attributes<'activityTaskScheduled'> {
  const { activityId, activityType, headers, taskQueue, retryPolicy = {}, priority = null } = command;
  const { scheduleToCloseTimeout, scheduleToStartTimeout, startToCloseTimeout } = command;
  const initialMs = msOf(retryPolicy.initialInterval) || 1_000;
  const withinMs = scheduleToCloseTimeout ? msOf(scheduleToCloseTimeout) : Number.POSITIVE_INFINITY;
  const attemptMs = startToCloseTimeout ? msOf(startToCloseTimeout) : Number.POSITIVE_INFINITY;
  return {
    activityId,
    activityType: { name: activityType },
    taskQueue: { name: taskQueue || execution.taskQueue },
    header: { fields: headers },
    input: { payloads: command.arguments },
    scheduleToCloseTimeout: optionalTime(scheduleToCloseTimeout),
    scheduleToStartTimeout: optionalTime(scheduleToStartTimeout ?? scheduleToCloseTimeout),
    startToCloseTimeout: timeOf(Math.min(attemptMs, withinMs)),
    heartbeatTimeout: optionalTime(command.heartbeatTimeout),
    workflowTaskCompletedEventId: longOf(completedId),
    retryPolicy: {
      initialInterval: timeOf(initialMs),
      maximumInterval: timeOf(msOf(retryPolicy.maximumInterval) || 100 * initialMs),
      backoffCoefficient: retryPolicy.backoffCoefficient || 2,
      maximumAttempts: retryPolicy.maximumAttempts ?? 0,
    },
    priority,
  };
}

/** Reads the options from the event. */
export function orderOf(scheduled: Attributes<'activityTaskScheduled'>): ActivityOrder {
  const { retryPolicy } = scheduled;
  return {
    seq: Number(scheduled.activityId),
    activityId: scheduled.activityId ?? '',
    activityType: scheduled.activityType?.name ?? '',
    arguments: scheduled.input?.payloads ?? [],
    taskQueue: scheduled.taskQueue?.name ?? '',
    retry: {
      initialMs: msOf(retryPolicy?.initialInterval),
      coefficient: retryPolicy?.backoffCoefficient ?? 2,
      maximumMs: msOf(retryPolicy?.maximumInterval),
      attempts: retryPolicy?.maximumAttempts ?? 0,
    },
    heartbeatMs: msOf(scheduled.heartbeatTimeout) || null,
    scheduleToStartMs: msOf(scheduled.scheduleToStartTimeout) || null,
    scheduleToCloseMs: msOf(scheduled.scheduleToCloseTimeout) || null,
    startToCloseMs: msOf(scheduled.startToCloseTimeout),
  };
}
