// How the server carries out commands (service/history/api/respondworkflowtaskcompleted).
import type { Payload, ProtoFailure } from '@temporalio/common';
import type { Command } from '../sdk/activation.js';
import type { Attributes } from '../sdk/history.js';
import { msOf, type ProtoTime } from '../sdk/times.js';
import { cancelActivity, scheduleActivity } from './activities.js';
import { orderOf, type ScheduleActivity, scheduledAttributes } from './activity-orders.js';
import { closeExecution, continueAsNew } from './closing.js';
import type { Execution } from './execution.js';
import { longOf, timeOf } from './history.js';
import type { Namespace } from './namespace.js';
import { signalOther, startChild } from './other-runs.js';
import { startTimer } from './timers.js';

type Sent = Record<string, unknown> & { seq: number };
type Carry = (namespace: Namespace, execution: Execution, sent: Sent, completedId: number) => void;

// temporal.api.enums.v1.RetryState
const policyNotSet = 5;

/** One function for each kind of command. */
const carriers: Record<string, Carry> = {
  scheduleActivity(namespace, execution, sent, completedId) {
    const about = scheduledAttributes(sent as unknown as ScheduleActivity, execution, completedId);
    const id = execution.history.write('activityTaskScheduled', about, namespace.scheduler.now);
    scheduleActivity(namespace, execution, orderOf(about), id);
  },
  requestCancelActivity(namespace, execution, { seq }, completedId) {
    cancelActivity(namespace, execution, seq, completedId);
  },
  startTimer(namespace, execution, { seq, startToFireTimeout }, completedId) {
    const id = `${seq}`;
    const ms = msOf(startToFireTimeout as ProtoTime);
    const startedId = execution.history.write(
      'timerStarted',
      { timerId: id, startToFireTimeout: timeOf(ms), workflowTaskCompletedEventId: longOf(completedId) },
      namespace.scheduler.now,
    );
    startTimer(namespace, execution, { id, startedId }, ms);
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

/** Ignores commands after one that closes the run. */
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

function forgetNulls(fields: Record<string, Payload>): void {
  for (const [name, { data }] of Object.entries(fields)) {
    const text = Buffer.from(data ?? []).toString();
    if (text === 'null' || text === '[]' || text === '') delete fields[name];
  }
}

/** Adds the patch to the search attribute that lists the patches of a run, as sdk-core does. */
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
