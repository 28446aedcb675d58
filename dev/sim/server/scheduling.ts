// How workflow tasks are scheduled, started and timed out
// (service/history/workflow/workflow_task_state_machine.go).
import type { Payload, ProtoFailure } from '@temporalio/common';
import type { Attributes, Event, EventKind } from '../sdk/history.js';
import type { Execution, Poller, StartedTask, WorkflowTask } from './execution.js';
import { longOf, timeOf } from './history.js';
import type { Namespace } from './namespace.js';

/** Time limit for a worker to complete a workflow task. */
const startToCloseMs = 10_000;
/** How long a task waits for the worker that has the run in its cache. */
const stickyMs = 10_000;
const manyEvents = 4_096;

// temporal.api.enums.v1
export const failedCauses = { UNHANDLED_COMMAND: 1, WORKER: 14, FORCE_CLOSE_COMMAND: 17, RESET_WORKFLOW: 20 } as const;
const timeoutTypes = { START_TO_CLOSE: 1, SCHEDULE_TO_START: 2 } as const;

/** Schedules a workflow task unless the run has one. A speculative task leaves no events if the run does nothing. */
export function scheduleTask(namespace: Namespace, execution: Execution, { isSpeculative = false } = {}): void {
  if (execution.task || !execution.isOpen || execution.isDelayed) return;
  const { history } = execution;
  let { attempt } = execution;
  let isWritten = !isSpeculative && attempt === 1;
  if (history.hasBuffered) {
    history.flush();
    attempt = 1;
    isWritten = true;
  }
  execution.attempt = attempt;
  const { now } = namespace.scheduler;
  const task: WorkflowTask = {
    number: namespace.nextNumber(),
    attempt,
    isSpeculative: isSpeculative && !isWritten,
    isWritten,
    scheduledMs: now,
    startedMs: null,
    scheduledId: history.nextId,
    startedId: 0,
    suggestsContinueAsNew: false,
  };
  execution.task = task;
  if (isWritten) writeScheduled(execution, task);
  dispatch(namespace, execution, task);
}

/** Records an event from outside a workflow task, and schedules a task for it. */
export function tell<Kind extends EventKind>(
  namespace: Namespace,
  execution: Execution,
  kind: Kind,
  attributes: Attributes<Kind>,
  ms = namespace.scheduler.now,
): void {
  settleSpeculative(execution);
  execution.record(kind, attributes, ms);
  scheduleTask(namespace, execution);
}

export interface SignalRequest {
  signalName: string;
  input: Payload[];
  headers: Record<string, Payload>;
  identity: string;
  requestId?: string;
}

/** A repeated request id counts once. */
export function signal(namespace: Namespace, execution: Execution, request: SignalRequest): void {
  const { signalName, input, headers, identity, requestId } = request;
  if (requestId !== undefined) {
    if (execution.requestIds.has(requestId)) return;
    execution.requestIds.add(requestId);
  }
  const about = { signalName, input: { payloads: input }, header: { fields: headers }, identity };
  tell(namespace, execution, 'workflowExecutionSignaled', about);
}

/** Writes the events of a speculative task, because another event is about to follow them. */
export function settleSpeculative(execution: Execution): void {
  const { task } = execution;
  if (!task?.isSpeculative) return;
  writeScheduled(execution, task);
  if (task.startedMs !== null) writeStarted(execution, task);
  task.isWritten = true;
  task.isSpeculative = false;
}

export function writeScheduled(execution: Execution, task: WorkflowTask): void {
  const { history, taskQueue } = execution;
  task.scheduledId = history.write(
    'workflowTaskScheduled',
    { taskQueue: { name: taskQueue }, attempt: task.attempt },
    task.scheduledMs,
  );
}

export function writeStarted(execution: Execution, task: WorkflowTask): void {
  task.startedId = execution.history.write('workflowTaskStarted', startedAttributes(task), task.startedMs ?? 0);
}

const startedAttributes = ({ scheduledId, suggestsContinueAsNew }: WorkflowTask) => ({
  scheduledEventId: longOf(scheduledId),
  suggestContinueAsNew: suggestsContinueAsNew,
});

/** Offers the task to the worker that has the run in its cache, or to any worker if that one is gone. */
function dispatch(namespace: Namespace, execution: Execution, task: WorkflowTask): void {
  const { sticky } = execution;
  const isMine = () => execution.task?.number === task.number && task.startedMs === null;
  if (sticky && !namespace.matching.isGone(sticky)) {
    namespace.matching.giveTo(sticky, isMine, () => startTask(namespace, execution, sticky));
    namespace.scheduler.after(stickyMs, () => {
      if (isMine() && execution.sticky === sticky) timeOut(namespace, execution, task, 'SCHEDULE_TO_START');
    });
    return;
  }
  execution.sticky = null;
  namespace.matching.give('workflow', execution.taskQueue, {
    isWanted: isMine,
    start: (poller) => startTask(namespace, execution, poller),
  });
}

export function startTask(namespace: Namespace, execution: Execution, poller: Poller): void {
  const { task, history } = execution;
  if (!task || task.startedMs !== null) return;
  // Other events were written since the task was scheduled, so it becomes a normal task.
  if (!task.isWritten && task.scheduledId !== history.nextId) {
    Object.assign(task, { attempt: 1, isSpeculative: false, isWritten: true, scheduledMs: namespace.scheduler.now });
    execution.attempt = 1;
    writeScheduled(execution, task);
  }
  task.startedMs = namespace.scheduler.now;
  task.suggestsContinueAsNew = history.nextId > manyEvents;
  if (task.isWritten) writeStarted(execution, task);
  else task.startedId = task.scheduledId + 1;
  const startedTask: StartedTask = {
    execution,
    number: task.number,
    updates: execution.updates.send(),
    startedMs: task.startedMs,
    startedId: task.startedId,
    writtenId: history.events.length,
    continueAsNewSuggested: task.suggestsContinueAsNew,
    events: task.isWritten ? [...history.events] : [...history.events, ...unwritten(task)],
  };
  namespace.scheduler.after(startToCloseMs, () => {
    if (execution.task?.number === task.number) timeOut(namespace, execution, task, 'START_TO_CLOSE');
  });
  namespace.matching.handTask(poller, startedTask);
}

/** The events that a worker sees for a task whose own events are not written yet. */
const unwritten = (task: WorkflowTask): Event[] => [
  {
    eventId: longOf(task.scheduledId),
    eventTime: timeOf(task.scheduledMs),
    workflowTaskScheduledEventAttributes: {},
  },
  {
    eventId: longOf(task.startedId),
    eventTime: timeOf(task.startedMs ?? 0),
    workflowTaskStartedEventAttributes: startedAttributes(task),
  },
];

export function writeFailed(
  execution: Execution,
  task: WorkflowTask,
  ms: number,
  about: { cause: number; failure?: ProtoFailure },
): void {
  if (task.isSpeculative) settleSpeculative(execution);
  if (!task.isWritten) return; // a repeated attempt is not recorded
  const ids = { scheduledEventId: longOf(task.scheduledId), startedEventId: longOf(task.startedId) };
  execution.history.write('workflowTaskFailed', { ...ids, ...about }, ms);
}

function timeOut(
  namespace: Namespace,
  execution: Execution,
  task: WorkflowTask,
  timeoutType: keyof typeof timeoutTypes,
): void {
  if (task.isSpeculative) settleSpeculative(execution);
  if (task.isWritten) {
    const startedEventId = longOf(task.startedMs === null ? 0 : task.startedId);
    const about = {
      scheduledEventId: longOf(task.scheduledId),
      startedEventId,
      timeoutType: timeoutTypes[timeoutType],
    };
    execution.history.write('workflowTaskTimedOut', about, namespace.scheduler.now);
  }
  namespace.count('workflowTaskTimedOut');
  execution.updates.sendAgain();
  endAttempt(execution);
  scheduleTask(namespace, execution);
}

/** The attempt counts only if the task was not bound to one worker. */
export function endAttempt(execution: Execution): void {
  if (execution.sticky) execution.attempt = 1;
  else execution.attempt += 1;
  execution.sticky = null;
  execution.task = null;
}
