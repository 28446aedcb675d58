// What the server makes of the commands of a run (service/history/api/respondworkflowtaskcompleted).
import type { Payload, ProtoFailure } from '@temporalio/common';
import { type Command, type Duration, fromDuration } from '../sdk/activation.js';
import type { Attributes } from '../sdk/history.js';
import { cancelActivity, scheduleActivity } from './activities.js';
import { closeExecution, continueAsNew } from './closing.js';
import type { ActivityOrder, Execution, Timer } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { signalOther, startChild } from './other-runs.js';
import { tell } from './scheduling.js';

type Sent = Record<string, unknown> & { seq: number };
type Carry = (namespace: Namespace, execution: Execution, sent: Sent, completedId: number) => void;

// temporal.api.enums.v1.RetryState
const policyNotSet = 5;

/** By the name of the command. */
const carriers: Record<string, Carry> = {
  scheduleActivity(namespace, execution, sent, completedId) {
    const order = orderOf(sent, execution);
    const id = execution.history.write(
      'activityTaskScheduled',
      scheduledAttributes(sent, order, completedId),
      namespace.scheduler.now,
    );
    scheduleActivity(namespace, execution, order, id);
  },
  requestCancelActivity(namespace, execution, { seq }, completedId) {
    cancelActivity(namespace, execution, seq, completedId);
  },
  startTimer(namespace, execution, { seq, startToFireTimeout }, completedId) {
    const timerId = `${seq}`;
    const ids = { workflowTaskCompletedEventId: longOf(completedId), timerId };
    const about = { ...ids, startToFireTimeout: protoDuration(startToFireTimeout as Duration) };
    const startedId = execution.history.write('timerStarted', about, namespace.scheduler.now);
    const timer = { id: timerId, startedId };
    execution.timers.set(timerId, timer);
    fireAfter(namespace, execution, timer, fromDuration(startToFireTimeout as Duration));
  },
  cancelTimer(namespace, execution, { seq }, completedId) {
    const timerId = `${seq}`;
    const startedEventId = longOf(execution.timers.get(timerId)?.startedId ?? 0);
    const ids = { workflowTaskCompletedEventId: longOf(completedId), timerId, startedEventId };
    execution.timers.delete(timerId);
    execution.history.forget((event) => event.timerFiredEventAttributes?.timerId === timerId);
    execution.history.write('timerCanceled', ids, namespace.scheduler.now);
  },
  signalExternalWorkflowExecution: signalOther,
  startChildWorkflowExecution: startChild,
  upsertWorkflowSearchAttributes({ scheduler }, execution, { searchAttributes }, completedId) {
    const about = {
      workflowTaskCompletedEventId: longOf(completedId),
      searchAttributes: searchAttributes as Attributes<'upsertWorkflowSearchAttributes'>['searchAttributes'],
    };
    execution.history.write(
      'upsertWorkflowSearchAttributes',
      about as Attributes<'upsertWorkflowSearchAttributes'>,
      scheduler.now,
    );
    Object.assign(
      execution.searchAttributes,
      (searchAttributes as { indexedFields: Record<string, Payload> }).indexedFields,
    );
    forgetNulls(execution.searchAttributes);
  },
  modifyWorkflowProperties({ scheduler }, execution, { upsertedMemo }, completedId) {
    const { fields } = upsertedMemo as { fields: Record<string, Payload> };
    const about = { workflowTaskCompletedEventId: longOf(completedId), upsertedMemo: { fields } };
    execution.history.write('workflowPropertiesModified', about, scheduler.now);
    Object.assign(execution.memo, fields);
    forgetNulls(execution.memo);
  },
  setPatchMarker({ scheduler }, execution, { patchId }, completedId) {
    const payload = {
      metadata: { encoding: Buffer.from('json/plain') },
      data: Buffer.from(JSON.stringify({ id: patchId, deprecated: false })),
    };
    const about = { markerName: 'core_patch', details: { 'patch-data': { payloads: [payload] } } };
    execution.history.write(
      'markerRecorded',
      { ...about, workflowTaskCompletedEventId: longOf(completedId) },
      scheduler.now,
    );
    noteVersion(execution, patchId as string, completedId, scheduler.now);
  },
  updateResponse: answerUpdate,
  completeWorkflowExecution(namespace, execution, { result }, completedId) {
    const about = {
      result: { payloads: result ? [result as Payload] : [] },
      workflowTaskCompletedEventId: longOf(completedId),
    };
    closeExecution(namespace, execution, 'COMPLETED', 'workflowExecutionCompleted', about);
  },
  failWorkflowExecution(namespace, execution, { failure }, completedId) {
    const about = {
      failure: failure as ProtoFailure,
      retryState: policyNotSet,
      workflowTaskCompletedEventId: longOf(completedId),
    };
    closeExecution(namespace, execution, 'FAILED', 'workflowExecutionFailed', about);
  },
  cancelWorkflowExecution(namespace, execution, _, completedId) {
    const about = { workflowTaskCompletedEventId: longOf(completedId) };
    closeExecution(namespace, execution, 'CANCELED', 'workflowExecutionCanceled', about);
  },
  continueAsNewWorkflowExecution: continueAsNew,
};

/** Of several ends the first counts. */
export function carryOut(
  namespace: Namespace,
  execution: Execution,
  { userMetadata, ...command }: Command,
  completedId: number,
): void {
  const [[name = '', sent] = []] = Object.entries(command);
  const carry = carriers[name];
  if (!carry) throw new TypeError(`the simulation knows no command ${name}`);
  if (!execution.isOpen) return;
  const { length } = execution.events;
  carry(namespace, execution, sent as Sent, completedId);
  const written = execution.events[length];
  if (userMetadata && written) written.userMetadata = userMetadata;
}

const protoDuration = ({ seconds, nanos }: Duration) => ({ seconds: longOf(seconds), nanos });
const optional = (given: unknown) => (given ? { ...protoDuration(given as Duration) } : undefined);
const optionalMs = (given: unknown): number | null => (given ? fromDuration(given as Duration) : null);

interface SentRetry {
  initialInterval?: { seconds: unknown; nanos?: number };
  maximumInterval?: { seconds: unknown; nanos?: number };
  backoffCoefficient?: number;
  maximumAttempts?: number;
}

const msOfInterval = (given: SentRetry['initialInterval']): number | undefined =>
  given && Number(given.seconds ?? 0) * 1_000 + Math.round((given.nanos ?? 0) / 1e6);

function orderOf(sent: Sent, execution: Execution): ActivityOrder {
  const { initialInterval, maximumInterval, backoffCoefficient, maximumAttempts } = (sent.retryPolicy ??
    {}) as SentRetry;
  const initialMs = msOfInterval(initialInterval) || 1_000;
  const scheduleToCloseMs = optionalMs(sent.scheduleToCloseTimeout);
  const startToCloseMs = Math.min(
    optionalMs(sent.startToCloseTimeout) ?? Number.POSITIVE_INFINITY,
    scheduleToCloseMs ?? Number.POSITIVE_INFINITY,
  );
  return {
    seq: sent.seq,
    activityId: sent.activityId as string,
    activityType: sent.activityType as string,
    arguments: sent.arguments as Payload[],
    headers: sent.headers as Record<string, Payload>,
    taskQueue: (sent.taskQueue as string) || execution.taskQueue,
    retry: {
      initialMs,
      coefficient: backoffCoefficient || 2,
      attempts: maximumAttempts ?? 0,
      maximumMs: msOfInterval(maximumInterval) || 100 * initialMs,
    },
    heartbeatMs: optionalMs(sent.heartbeatTimeout),
    scheduleToStartMs: optionalMs(sent.scheduleToStartTimeout) ?? scheduleToCloseMs,
    scheduleToCloseMs,
    startToCloseMs,
    priority: (sent.priority as { priorityKey?: number } | undefined)?.priorityKey ?? 3,
  };
}

const durationOf = (ms: number) => ({ seconds: longOf(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 });

function scheduledAttributes(
  sent: Sent,
  order: ActivityOrder,
  completedId: number,
): Attributes<'activityTaskScheduled'> {
  const { initialMs, coefficient, maximumMs, attempts } = order.retry;
  return {
    activityId: order.activityId,
    activityType: { name: order.activityType },
    taskQueue: { name: order.taskQueue },
    header: { fields: order.headers },
    input: { payloads: order.arguments },
    scheduleToCloseTimeout: optional(sent.scheduleToCloseTimeout) ?? null,
    scheduleToStartTimeout: order.scheduleToStartMs === null ? null : durationOf(order.scheduleToStartMs),
    startToCloseTimeout: durationOf(order.startToCloseMs),
    heartbeatTimeout: optional(sent.heartbeatTimeout) ?? null,
    workflowTaskCompletedEventId: longOf(completedId),
    retryPolicy: {
      initialInterval: durationOf(initialMs),
      maximumInterval: durationOf(maximumMs),
      backoffCoefficient: coefficient,
      maximumAttempts: attempts,
    },
    priority: (sent.priority as Attributes<'activityTaskScheduled'>['priority']) ?? null,
  };
}

export function fireAfter(namespace: Namespace, execution: Execution, timer: Timer, ms: number): void {
  namespace.scheduler.after(ms, () => fire(namespace, execution, timer));
}

function fire(namespace: Namespace, execution: Execution, timer: Timer): void {
  if (!execution.isOpen || execution.timers.get(timer.id) !== timer) return;
  execution.timers.delete(timer.id);
  tell(namespace, execution, 'timerFired', { timerId: timer.id, startedEventId: longOf(timer.startedId) });
}

function forgetNulls(fields: Record<string, Payload>): void {
  for (const [name, { data }] of Object.entries(fields)) {
    const text = Buffer.from(data ?? []).toString();
    if (text === 'null' || text === '[]' || text === '') delete fields[name];
  }
}

/** sdk-core notes each patch in a search attribute of its own. */
function noteVersion(execution: Execution, patchId: string, completedId: number, ms: number): void {
  const known = Buffer.from(execution.searchAttributes.TemporalChangeVersion?.data ?? Buffer.from('[]')).toString();
  const versions = [...(JSON.parse(known) as string[]), patchId];
  const payload = {
    metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from('KeywordList') },
    data: Buffer.from(JSON.stringify(versions)),
  };
  execution.searchAttributes.TemporalChangeVersion = payload;
  const about = {
    workflowTaskCompletedEventId: longOf(completedId),
    searchAttributes: { indexedFields: { TemporalChangeVersion: payload } },
  };
  execution.history.write('upsertWorkflowSearchAttributes', about, ms);
}

interface UpdateResponse {
  protocolInstanceId: string;
  accepted?: object;
  completed?: Payload;
  rejected?: ProtoFailure;
}

function answerUpdate({ scheduler }: Namespace, execution: Execution, sent: Sent, completedId: number): void {
  const { protocolInstanceId, accepted, completed, rejected } = sent as unknown as UpdateResponse;
  const update = execution.updates.find(protocolInstanceId);
  if (!update) return;
  if (accepted) {
    const { id, name, input, headers, identity } = update;
    const acceptedRequest = {
      meta: { updateId: id, identity },
      input: { name, args: { payloads: input }, header: { fields: headers } },
    };
    update.state = 'accepted';
    const sequencing = { acceptedRequestSequencingEventId: longOf(completedId - 2) };
    update.acceptedEventId = execution.history.write(
      'workflowExecutionUpdateAccepted',
      {
        protocolInstanceId,
        acceptedRequestMessageId: `${id}/request`,
        ...sequencing,
        acceptedRequest: update.isInHistory ? null : acceptedRequest,
      },
      scheduler.now,
    );
    return;
  }
  if (rejected && update.acceptedEventId === null) {
    execution.updates.reject(update, rejected);
    return;
  }
  const outcome = rejected ? { failure: rejected } : { success: { payloads: completed ? [completed] : [] } };
  const about = {
    meta: { updateId: update.id, identity: update.identity },
    acceptedEventId: longOf(update.acceptedEventId ?? 0),
    outcome,
  };
  execution.history.write('workflowExecutionUpdateCompleted', about, scheduler.now);
  execution.updates.complete(update, outcome);
}
