// Starting runs.
import type { Payload } from '@temporalio/common';
import type { Attributes } from '../sdk/history.js';
import { Execution } from './execution.js';
import type { Namespace } from './namespace.js';

/** The request to start a run. */
export interface StartRequest {
  workflowId: string;
  type: string;
  taskQueue: string;
  input: Payload[];
  memo?: Record<string, Payload>;
  searchAttributes?: Record<string, Payload>;
  headers?: Record<string, Payload>;
  identity?: string;
  summary?: Payload | null;
}

/** Creates the first run of a chain. The caller schedules its first task. */
export function beginExecution(namespace: Namespace, request: StartRequest): Execution {
  const { workflowId, type, taskQueue, input, memo = {}, searchAttributes = {}, headers = {} } = request;
  const runId = namespace.newRunId();
  return openExecution(
    namespace,
    runId,
    {
      workflowId,
      workflowType: { name: type },
      taskQueue: { name: taskQueue },
      input: { payloads: input },
      memo: { fields: memo },
      searchAttributes: { indexedFields: searchAttributes },
      header: { fields: headers },
      originalExecutionRunId: runId,
      firstExecutionRunId: runId,
      identity: request.identity ?? '',
      attempt: 1,
    },
    request.summary,
  );
}

export function openExecution(
  namespace: Namespace,
  runId: string,
  started: Attributes<'workflowExecutionStarted'>,
  summary?: Payload | null,
): Execution {
  const { now } = namespace.scheduler;
  const execution = new Execution(started, runId, now);
  execution.history.write('workflowExecutionStarted', started, now);
  const [event] = execution.events;
  if (summary && event) event.userMetadata = { summary };
  namespace.add(execution);
  namespace.scheduler.note(`start ${execution.workflowId} ${execution.type}`);
  return execution;
}
