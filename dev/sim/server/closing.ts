// Closing runs.
import type { Payload } from '@temporalio/common';
import type { Attributes, EventKind } from '../sdk/history.js';
import type { Execution, Status } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { openExecution } from './opening.js';
import { tellParent } from './other-runs.js';
import { failedCauses, scheduleTask } from './scheduling.js';
import type { Update } from './updates.js';

/** Two runs of one id start at least this far apart. */
const shortestLifeMs = 1_000;

export function continueAsNew(
  namespace: Namespace,
  execution: Execution,
  sent: Record<string, unknown>,
  completedId: number,
): void {
  const runId = namespace.newRunId();
  const { workflowType, taskQueue, headers, memo } = sent as {
    workflowType: string;
    taskQueue: string;
    headers: Record<string, Payload>;
    memo?: Record<string, Payload>;
  };
  const waitMs = Math.max(0, execution.startedMs + shortestLifeMs - namespace.scheduler.now);
  const common = {
    workflowType: { name: workflowType },
    taskQueue: { name: taskQueue },
    header: { fields: headers },
    input: { payloads: sent.arguments as Payload[] },
    memo: { fields: memo ?? { ...execution.memo } },
    searchAttributes: { indexedFields: { ...execution.searchAttributes } },
  };
  const { workflowId, firstRunId } = execution;
  execution.continuedTo = runId;
  const about = { ...common, newExecutionRunId: runId, workflowTaskCompletedEventId: longOf(completedId) };
  const unseen = closeExecution(namespace, execution, 'CONTINUED_AS_NEW', 'workflowExecutionContinuedAsNew', about);
  const next = openExecution(namespace, runId, {
    ...common,
    workflowId,
    firstExecutionRunId: firstRunId,
    originalExecutionRunId: runId,
    continuedExecutionRunId: execution.runId,
    attempt: 1,
  });
  next.parent = execution.parent;
  for (const update of unseen) admitAgain(next, update);
  if (waitMs === 0) scheduleTask(namespace, next);
  else {
    next.isDelayed = true;
    namespace.scheduler.after(waitMs, () => {
      next.isDelayed = false;
      scheduleTask(namespace, next);
    });
  }
}

/** Passes on an update that the previous run has not seen. */
function admitAgain(execution: Execution, { waiting, identity, ...given }: Update): void {
  execution.updates.admit(given, identity).waiting.push(...waiting);
}

/** Closes a run within its own task. Returns the updates that it has not seen, for the next run. */
export function closeExecution<Kind extends EventKind>(
  namespace: Namespace,
  execution: Execution,
  status: Status,
  kind: Kind,
  attributes: Attributes<Kind>,
) {
  execution.history.write(kind, attributes, namespace.scheduler.now);
  return markClosed(namespace, execution, status);
}

function markClosed(namespace: Namespace, execution: Execution, status: Status) {
  execution.status = status;
  execution.closedMs = namespace.scheduler.now;
  execution.task = null;
  execution.history.takeBuffered();
  const unseen = execution.updates.close(status === 'CONTINUED_AS_NEW');
  namespace.scheduler.note(`end ${execution.workflowId} ${status}`);
  tellParent(namespace, execution);
  namespace.closed(execution);
  return unseen;
}

/** Closes a run from outside, whatever it is doing. */
export function terminate(
  namespace: Namespace,
  execution: Execution,
  about: { reason: string; identity: string },
): void {
  if (!execution.isOpen) return;
  const { task, history } = execution;
  const { now } = namespace.scheduler;
  if (task?.startedMs && task.isWritten) {
    const ids = { scheduledEventId: longOf(task.scheduledId), startedEventId: longOf(task.startedId) };
    history.write('workflowTaskFailed', { ...ids, cause: failedCauses.FORCE_CLOSE_COMMAND }, now);
  }
  execution.task = null;
  history.flush();
  history.write('workflowExecutionTerminated', about, now);
  markClosed(namespace, execution, 'TERMINATED');
}
