// What runs do to other runs: signals and children.
import type { Payload } from '@temporalio/common';
import type { Attributes } from '../sdk/history.js';
import type { Execution, Status } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { openExecution } from './opening.js';
import { scheduleTask, signal, tell } from './scheduling.js';

type Sent = Record<string, unknown>;

/** The server passes signals and child starts on after a short delay. */
const carryMs = (namespace: Namespace): number => namespace.latencyMs('transfer');

export function signalOther(namespace: Namespace, execution: Execution, sent: Sent, completedId: number): void {
  const { signalName, workflowExecution, headers } = sent as {
    signalName: string;
    workflowExecution: { workflowId: string };
    headers: Record<string, Payload>;
  };
  const payloads = sent.args as Payload[];
  const about = { signalName, workflowExecution, input: { payloads }, header: { fields: headers } };
  const initiatedId = execution.history.write(
    'signalExternalWorkflowExecutionInitiated',
    { ...about, workflowTaskCompletedEventId: longOf(completedId) },
    namespace.scheduler.now,
  );
  namespace.scheduler.after(carryMs(namespace), () => {
    const target = namespace.openRun(workflowExecution.workflowId);
    if (target) signal(namespace, target, { signalName, input: payloads, headers, identity: 'history-service' });
    if (!execution.isOpen) return;
    const ids = {
      initiatedEventId: longOf(initiatedId),
      workflowExecution: { ...workflowExecution, runId: target?.runId ?? '' },
    };
    if (target) tell(namespace, execution, 'externalWorkflowExecutionSignaled', ids);
    else tell(namespace, execution, 'signalExternalWorkflowExecutionFailed', { ...ids, cause: 1 });
  });
}

export function startChild(namespace: Namespace, execution: Execution, sent: Sent, completedId: number): void {
  const { workflowId, workflowType, taskQueue, headers, parentClosePolicy, workflowIdReusePolicy } = sent as {
    workflowId: string;
    workflowType: string;
    taskQueue: string;
    headers: Record<string, Payload>;
    parentClosePolicy?: number;
    workflowIdReusePolicy?: number;
  };
  const about = {
    workflowId,
    workflowType: { name: workflowType },
    taskQueue: { name: taskQueue },
    header: { fields: headers },
    input: { payloads: sent.input as Payload[] },
    memo: { fields: (sent.memo as Record<string, Payload>) ?? {} },
    searchAttributes: (sent.searchAttributes as { indexedFields: Record<string, Payload> }) ?? { indexedFields: {} },
  };
  const initiatedId = execution.history.write(
    'startChildWorkflowExecutionInitiated',
    {
      ...about,
      workflowTaskCompletedEventId: longOf(completedId),
      workflowIdReusePolicy: workflowIdReusePolicy ?? 1,
      ...(parentClosePolicy ? { parentClosePolicy } : {}),
    },
    namespace.scheduler.now,
  );
  namespace.scheduler.after(carryMs(namespace), () => {
    // A child with the policy ABANDON starts even if its parent has closed in the meantime.
    if (!execution.isOpen && parentClosePolicy !== 2) return;
    const isTaken =
      namespace.openRun(workflowId) !== undefined ||
      (workflowIdReusePolicy === 3 && namespace.newest(workflowId) !== undefined);
    const ids = { initiatedEventId: longOf(initiatedId), workflowType: { name: workflowType } };
    if (isTaken) {
      if (execution.isOpen)
        tell(namespace, execution, 'startChildWorkflowExecutionFailed', { ...ids, workflowId, cause: 1 });
      return;
    }
    const runId = namespace.newRunId();
    const child = openExecution(namespace, runId, {
      ...about,
      originalExecutionRunId: runId,
      firstExecutionRunId: runId,
      attempt: 1,
      parentWorkflowExecution: { workflowId: execution.workflowId, runId: execution.runId },
    });
    child.parent = { execution, initiatedId };
    if (execution.isOpen) {
      execution.children.set(initiatedId, { workflowId, runId });
      tell(namespace, execution, 'childWorkflowExecutionStarted', { ...ids, workflowExecution: { workflowId, runId } });
    }
    scheduleTask(namespace, child);
  });
}

const childEvents: Partial<
  Record<
    Status,
    | 'childWorkflowExecutionCompleted'
    | 'childWorkflowExecutionFailed'
    | 'childWorkflowExecutionCanceled'
    | 'childWorkflowExecutionTerminated'
  >
> = {
  COMPLETED: 'childWorkflowExecutionCompleted',
  FAILED: 'childWorkflowExecutionFailed',
  CANCELED: 'childWorkflowExecutionCanceled',
  TERMINATED: 'childWorkflowExecutionTerminated',
};

/** Reports the end of a child to its parent. Continuing as new is not an end. */
export function tellParent(namespace: Namespace, child: Execution): void {
  const { parent, status, type, workflowId, runId } = child;
  const kind = childEvents[status];
  if (!parent || !kind) return;
  const { execution, initiatedId } = parent;
  const last = child.events.at(-1);
  const result = last?.workflowExecutionCompletedEventAttributes?.result;
  const failure = last?.workflowExecutionFailedEventAttributes?.failure;
  namespace.scheduler.after(carryMs(namespace), () => {
    if (!execution.isOpen || !execution.children.delete(initiatedId)) return;
    const about = {
      initiatedEventId: longOf(initiatedId),
      startedEventId: longOf(0),
      namespace: 'default',
      workflowType: { name: type },
      workflowExecution: { workflowId, runId },
      ...(result ? { result } : {}),
      ...(failure ? { failure } : {}),
    };
    tell(namespace, execution, kind, about as Attributes<typeof kind>);
  });
}
