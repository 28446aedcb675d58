// The part of Temporal's gRPC API that our clients use.
import type { Payload } from '@temporalio/common';
import { completeById } from '../server/activities.js';
import { terminate } from '../server/closing.js';
import { type Execution, statuses } from '../server/execution.js';
import { longOf, timeOf } from '../server/history.js';
import type { Namespace } from '../server/namespace.js';
import { type Policies, requestCancel, signalWithStart, start, update } from '../server/requests.js';
import { signal } from '../server/scheduling.js';
import { findRuns } from './visibility.js';

/** Sends a query to a worker. */
export type Queries = (execution: Execution, name: string, args: Payload[]) => Promise<Payload>;

interface Target {
  workflowId?: string | null;
  runId?: string | null;
}

interface Message {
  workflowExecution: Target;
  identity: string;
  requestId: string;
  header?: { fields?: Record<string, Payload> };
  input?: { payloads?: Payload[] };
}

interface StartMessage extends Message {
  workflowId: string;
  workflowType: { name: string };
  taskQueue: { name: string };
  memo?: { fields?: Record<string, Payload> };
  searchAttributes?: { indexedFields?: Record<string, Payload> };
  workflowIdReusePolicy?: number;
  workflowIdConflictPolicy?: number;
  userMetadata?: { summary?: Payload };
}

// temporal.api.enums.v1
const reusePolicies: Record<number, Policies['reuse']> = {
  0: 'ALLOW_DUPLICATE',
  1: 'ALLOW_DUPLICATE',
  2: 'ALLOW_DUPLICATE_FAILED_ONLY',
  3: 'REJECT_DUPLICATE',
};
const conflictPolicies: Record<number, Policies['conflict']> = {
  0: 'FAIL',
  1: 'FAIL',
  2: 'USE_EXISTING',
  3: 'TERMINATE_EXISTING',
};
const completedStage = 3;
const closeEventsOnly = 2;
const ofActivities = 2;

const policiesOf = ({ workflowIdReusePolicy = 0, workflowIdConflictPolicy = 0 }: StartMessage): Policies => ({
  reuse: reusePolicies[workflowIdReusePolicy] ?? 'ALLOW_DUPLICATE',
  conflict: conflictPolicies[workflowIdConflictPolicy] ?? 'FAIL',
});

const requestOf = (message: StartMessage) => ({
  workflowId: message.workflowId,
  type: message.workflowType.name,
  taskQueue: message.taskQueue.name,
  input: message.input?.payloads ?? [],
  identity: message.identity,
  headers: message.header?.fields ?? {},
  memo: message.memo?.fields ?? {},
  searchAttributes: message.searchAttributes?.indexedFields ?? {},
  summary: message.userMetadata?.summary ?? null,
});

/** All methods, under their names in the API. */
export const createWorkflowService = (namespace: Namespace, queries: Queries) =>
  Object.assign(createMessages(namespace), createReads(namespace, queries));

const finderIn =
  (namespace: Namespace) =>
  ({ workflowId, runId }: Target): Execution =>
    namespace.find(workflowId ?? '', runId ?? '');

function createMessages(namespace: Namespace) {
  const find = finderIn(namespace);
  const findOpen = ({ workflowId, runId }: Target) => namespace.findOpen(workflowId ?? '', runId ?? '');
  return {
    startWorkflowExecution(message: StartMessage) {
      const { execution, isStarted } = start(namespace, requestOf(message), policiesOf(message));
      return { runId: execution.runId, started: isStarted };
    },

    signalWithStartWorkflowExecution(
      message: StartMessage & { signalName: string; signalInput?: { payloads?: Payload[] } },
    ) {
      const { signalName, identity, requestId, header } = message;
      const given = {
        signalName,
        identity,
        requestId,
        headers: header?.fields ?? {},
        input: message.signalInput?.payloads ?? [],
      };
      const { execution, isStarted } = signalWithStart(namespace, requestOf(message), given, policiesOf(message));
      return { runId: execution.runId, started: isStarted };
    },

    signalWorkflowExecution({
      workflowExecution,
      signalName,
      input,
      header,
      identity,
      requestId,
    }: Message & { signalName: string }) {
      const given = { signalName, identity, requestId, input: input?.payloads ?? [], headers: header?.fields ?? {} };
      signal(namespace, findOpen(workflowExecution), given);
      return {};
    },

    async updateWorkflowExecution({ workflowExecution, request }: UpdateMessage) {
      const execution = find(workflowExecution);
      const { meta, input } = request;
      const given = {
        id: meta.updateId,
        protocolInstanceId: meta.updateId,
        name: input.name,
        input: input.args?.payloads ?? [],
        headers: input.header?.fields ?? {},
      };
      const outcome = await update(namespace, execution, given, meta.identity ?? '');
      const { workflowId, runId } = execution;
      const updateRef = { updateId: meta.updateId, workflowExecution: { workflowId, runId } };
      return { updateRef, outcome, stage: completedStage };
    },

    respondActivityTaskCompletedById({ activityId, result, identity, ...target }: CompletionMessage) {
      const [payload] = result?.payloads ?? [];
      completeById(namespace, findOpen(target), { activityId, result: payload, identity });
      return {};
    },

    requestCancelWorkflowExecution({ workflowExecution, identity, reason }: Message & { reason?: string }) {
      requestCancel(namespace, findOpen(workflowExecution), { cause: reason ?? '', identity });
      return {};
    },

    terminateWorkflowExecution({ workflowExecution, identity, reason }: Message & { reason?: string }) {
      terminate(namespace, findOpen(workflowExecution), { reason: reason ?? '', identity });
      return {};
    },
  };
}

function createReads(namespace: Namespace, queries: Queries) {
  const find = finderIn(namespace);
  return {
    async queryWorkflow({
      execution,
      query,
    }: {
      execution: Target;
      query: { queryType: string; queryArgs?: { payloads?: Payload[] } };
    }) {
      const payload = await queries(find(execution), query.queryType, query.queryArgs?.payloads ?? []);
      return { queryResult: { payloads: [payload] } };
    },

    describeWorkflowExecution: ({ execution }: { execution: Target }) => described(find(execution)),

    async getWorkflowExecutionHistory({ execution, waitNewEvent, historyEventFilterType }: HistoryMessage) {
      const found = find(execution);
      if (historyEventFilterType !== closeEventsOnly) return { history: { events: [...found.events] } };
      if (found.isOpen && waitNewEvent) await namespace.closing(found);
      return { history: { events: found.isOpen ? [] : [found.events.at(-1)] } };
    },

    listWorkflowExecutions({ query = '' }: { query?: string }) {
      return { executions: findRuns(namespace.all(), query).map(infoOf), nextPageToken: new Uint8Array() };
    },

    countWorkflowExecutions({ query = '' }: { query?: string }) {
      return { count: longOf(findRuns(namespace.all(), query).length), groups: [] };
    },

    describeTaskQueue({ taskQueue, taskQueueType }: { taskQueue: { name: string }; taskQueueType?: number }) {
      const kind = taskQueueType === ofActivities ? 'activity' : 'workflow';
      const pollers = namespace.matching.pollersOf(kind, taskQueue.name);
      const lastAccessTime = timeOf(namespace.scheduler.now);
      return { pollers: pollers.map(({ identity }) => ({ identity, lastAccessTime })) };
    },

    getSystemInfo: () => ({ serverVersion: '1.31.2' }),
  };
}

interface UpdateMessage {
  workflowExecution: Target;
  request: {
    meta: { updateId: string; identity?: string };
    input: { name: string; args?: { payloads?: Payload[] }; header?: { fields?: Record<string, Payload> } };
  };
}

interface CompletionMessage extends Target {
  activityId: string;
  result?: { payloads?: Payload[] };
  identity: string;
}

interface HistoryMessage {
  execution: Target;
  waitNewEvent?: boolean;
  historyEventFilterType?: number;
}

const infoOf = (execution: Execution) => ({
  execution: { workflowId: execution.workflowId, runId: execution.runId },
  type: { name: execution.type },
  taskQueue: execution.taskQueue,
  status: statuses[execution.status],
  historyLength: longOf(execution.events.length),
  startTime: timeOf(execution.startedMs),
  executionTime: timeOf(execution.startedMs),
  closeTime: execution.closedMs === null ? null : timeOf(execution.closedMs),
  memo: { fields: execution.memo },
  searchAttributes: { indexedFields: execution.searchAttributes },
});

// temporal.api.enums.v1.PendingActivityState
const activityStates = { scheduled: 1, backoff: 1, started: 2 } as const;

function described(execution: Execution) {
  const pendingActivities = [...execution.activities.values()].map((activity) => ({
    activityId: activity.activityId,
    activityType: { name: activity.activityType },
    attempt: activity.attempt,
    state: activity.cancelRequestedId !== null ? 3 : activityStates[activity.state],
    lastWorkerIdentity: activity.startedBy?.identity ?? '',
    heartbeatDetails: activity.heartbeat ? { payloads: activity.heartbeat } : null,
    lastFailure: activity.lastFailure,
    paused: activity.isPaused,
  }));
  const { task } = execution;
  const pendingWorkflowTask = task && { state: task.startedMs === null ? 1 : 2, attempt: task.attempt };
  return {
    workflowExecutionInfo: infoOf(execution),
    pendingActivities,
    pendingWorkflowTask,
    executionConfig: { taskQueue: { name: execution.taskQueue } },
    pendingChildren: [...execution.children.values()],
  };
}
