// Resetting a run to one of its workflow tasks (service/history/ndc/workflow_resetter.go).
import type { ProtoFailure } from '@temporalio/common';
import type { DoUpdate } from '../sdk/activation.js';
import { type Attributes, attributesOf, type Event } from '../sdk/history.js';
import { msOf } from '../sdk/times.js';
import { scheduleActivity } from './activities.js';
import { orderOf } from './activity-orders.js';
import { terminate } from './closing.js';
import type { ActivityOrder, Execution } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { openExecution } from './opening.js';
import { failedCauses, scheduleTask } from './scheduling.js';
import { startTimer } from './timers.js';
import type { Outcome } from './updates.js';

/** The point to which a run is reset. */
export interface ResetPoint {
  /** The event that ended the workflow task. */
  finishedId: number;
  /** Are later signals and updates left out? They are not unless the operator says so. */
  leavesOut?: boolean;
}

/**
 * Starts a new run with the history up to a workflow task. Signals and updates from later events are applied again;
 * everything else is done anew. The open run of this id is terminated.
 */
export function reset(
  namespace: Namespace,
  base: Execution,
  { finishedId, leavesOut = false }: ResetPoint,
  reason: string,
): Execution {
  const kept = base.events.slice(0, finishedId - 1);
  const later = leavesOut ? [] : laterMessages(namespace, base, finishedId);
  const open = namespace.openRun(base.workflowId);
  if (open) terminate(namespace, open, { reason, identity: 'history-service' });
  const runId = namespace.newRunId();
  const fresh = openExecution(namespace, runId, base.started);
  rebuild(namespace, fresh, kept);
  const started = kept.at(-1);
  const ids = {
    scheduledEventId: attributesOf(started, 'workflowTaskStarted')?.scheduledEventId ?? longOf(0),
    startedEventId: longOf(Number(started?.eventId)),
  };
  const failure: ProtoFailure = { message: reason, source: 'Server', resetWorkflowFailureInfo: {} };
  const about = { ...ids, cause: failedCauses.RESET_WORKFLOW, failure, baseRunId: base.runId, newRunId: runId };
  fresh.history.write('workflowTaskFailed', about, namespace.scheduler.now);
  for (const message of later) bringAgain(namespace, fresh, message);
  namespace.scheduler.note(`reset ${base.workflowId} to ${finishedId}`);
  namespace.count('reset');
  if (leavesOut) namespace.count('resetWithoutMessages');
  scheduleTask(namespace, fresh);
  return fresh;
}

/** Later signals and updates, including those of runs that this run continued as. */
function laterMessages(namespace: Namespace, base: Execution, finishedId: number): Event[] {
  const later = base.events.slice(finishedId - 1);
  const pending = base.history.takeBuffered();
  let next = base.continuedTo;
  const all = [...later, ...pending];
  while (next !== null) {
    const run = namespace.runsOf(base.workflowId).find((one) => one.runId === next);
    if (!run) break;
    all.push(...run.events, ...run.history.takeBuffered());
    next = run.continuedTo;
  }
  return all.filter(
    (event) =>
      event.workflowExecutionSignaledEventAttributes ||
      event.workflowExecutionUpdateAcceptedEventAttributes ||
      event.workflowExecutionUpdateAdmittedEventAttributes,
  );
}

function bringAgain(namespace: Namespace, fresh: Execution, event: Event): void {
  const { now } = namespace.scheduler;
  const signal = attributesOf(event, 'workflowExecutionSignaled');
  if (signal) {
    fresh.history.write('workflowExecutionSignaled', signal, now);
    return;
  }
  const admitted = attributesOf(event, 'workflowExecutionUpdateAdmitted');
  const request = admitted?.request ?? attributesOf(event, 'workflowExecutionUpdateAccepted')?.acceptedRequest;
  if (!request) return;
  fresh.history.write('workflowExecutionUpdateAdmitted', { request, origin: 1 }, now);
  admitWritten(fresh, request);
}

/** Restores the state of a run from its events. */
function rebuild(namespace: Namespace, fresh: Execution, events: readonly Event[]): void {
  fresh.history.take(events);
  const open = new Map<number, ActivityOrder>();
  const timers = new Map<string, Event>();
  for (const event of events) {
    const id = Number(event.eventId);
    const scheduled = attributesOf(event, 'activityTaskScheduled');
    if (scheduled) open.set(id, orderOf(scheduled));
    const ended =
      attributesOf(event, 'activityTaskCompleted') ??
      attributesOf(event, 'activityTaskFailed') ??
      attributesOf(event, 'activityTaskTimedOut') ??
      attributesOf(event, 'activityTaskCanceled');
    if (ended) open.delete(Number(ended.scheduledEventId));
    if (event.timerStartedEventAttributes) timers.set(event.timerStartedEventAttributes.timerId ?? '', event);
    const timer = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
    if (timer) timers.delete(timer.timerId ?? '');
    const {
      upsertWorkflowSearchAttributesEventAttributes: upserted,
      workflowPropertiesModifiedEventAttributes: modified,
    } = event;
    if (upserted) Object.assign(fresh.searchAttributes, upserted.searchAttributes?.indexedFields);
    if (modified) Object.assign(fresh.memo, modified.upsertedMemo?.fields);
    if (event.workflowExecutionCancelRequestedEventAttributes) fresh.isCancelRequested = true;
    takeUpdate(fresh, event);
    takeChild(fresh, event);
  }
  for (const [id, order] of open) scheduleActivity(namespace, fresh, order, id);
  for (const [id, event] of timers)
    startTimer(namespace, fresh, { id, startedId: Number(event.eventId) }, leftMs(event, namespace.scheduler.now));
}

/** Time until the timer would have fired in the earlier run. */
const leftMs = ({ eventTime, timerStartedEventAttributes: timer }: Event, now: number): number =>
  Math.max(0, msOf(eventTime) + msOf(timer?.startToFireTimeout) - now);

function takeUpdate(fresh: Execution, event: Event): void {
  const admitted = attributesOf(event, 'workflowExecutionUpdateAdmitted')?.request;
  if (admitted) admitWritten(fresh, admitted);
  const accepted = attributesOf(event, 'workflowExecutionUpdateAccepted');
  if (accepted) {
    const known = fresh.updates.find(accepted.protocolInstanceId ?? '');
    const update = known ?? fresh.updates.admit(updateOf(accepted.acceptedRequest ?? {}), '');
    Object.assign(update, { state: 'accepted', acceptedEventId: Number(event.eventId) });
  }
  const completed = attributesOf(event, 'workflowExecutionUpdateCompleted');
  const update = completed && fresh.updates.find(completed.meta?.updateId ?? '');
  if (update && completed?.outcome) fresh.updates.complete(update, completed.outcome as Outcome);
}

type UpdateRequest = NonNullable<Attributes<'workflowExecutionUpdateAdmitted'>['request']>;

function updateOf({ meta, input }: UpdateRequest): Omit<DoUpdate, 'runValidator'> {
  const id = meta?.updateId ?? '';
  const { name, args, header } = input ?? {};
  return { id, protocolInstanceId: id, name: name ?? '', input: args?.payloads ?? [], headers: header?.fields ?? {} };
}

/** Admits an update whose request is in the history. */
function admitWritten(fresh: Execution, request: UpdateRequest): void {
  fresh.updates.admit(updateOf(request), request.meta?.identity ?? '').isInHistory = true;
}

function takeChild(fresh: Execution, event: Event): void {
  const started = attributesOf(event, 'childWorkflowExecutionStarted');
  if (started) {
    const { workflowId, runId } = started.workflowExecution ?? {};
    fresh.children.set(Number(started.initiatedEventId), {
      workflowId: workflowId ?? '',
      runId: runId ?? '',
    });
  }
  const ended =
    attributesOf(event, 'childWorkflowExecutionCompleted') ??
    attributesOf(event, 'childWorkflowExecutionFailed') ??
    attributesOf(event, 'childWorkflowExecutionCanceled') ??
    attributesOf(event, 'childWorkflowExecutionTerminated');
  if (ended) fresh.children.delete(Number(ended.initiatedEventId));
}
