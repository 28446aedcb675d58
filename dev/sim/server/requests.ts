// Requests of clients. Each takes effect at once; errors are gRPC errors.
import type { DoUpdate } from '../sdk/activation.js';
import { terminate } from './closing.js';
import type { Execution } from './execution.js';
import { grpcError } from './grpc.js';
import type { Namespace } from './namespace.js';
import { beginExecution, type StartRequest } from './opening.js';
import { type SignalRequest, scheduleTask, signal, tell } from './scheduling.js';
import { type Outcome, outcomeOf } from './updates.js';

/** What to do if the workflow id already has a run. */
export interface Policies {
  reuse: 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY' | 'REJECT_DUPLICATE';
  conflict: 'FAIL' | 'USE_EXISTING' | 'TERMINATE_EXISTING';
}

export interface Started {
  execution: Execution;
  isStarted: boolean;
}

export function start(namespace: Namespace, request: StartRequest, policies: Policies): Started {
  const joined = joinedRun(namespace, request.workflowId, policies);
  if (joined) return { execution: joined, isStarted: false };
  const execution = beginExecution(namespace, request);
  scheduleTask(namespace, execution);
  return { execution, isStarted: true };
}

export function signalWithStart(
  namespace: Namespace,
  request: StartRequest,
  given: SignalRequest,
  policies: Policies,
): Started {
  const joined = joinedRun(namespace, request.workflowId, { ...policies, conflict: 'USE_EXISTING' });
  const execution = joined ?? beginExecution(namespace, request);
  signal(namespace, execution, given);
  return { execution, isStarted: joined === undefined };
}

export function requestCancel(
  namespace: Namespace,
  execution: Execution,
  about: { cause: string; identity: string },
): void {
  if (execution.isCancelRequested) return;
  execution.isCancelRequested = true;
  tell(namespace, execution, 'workflowExecutionCancelRequested', about);
}

/** Resolves with the outcome of the update. */
export function update(
  namespace: Namespace,
  execution: Execution,
  given: Omit<DoUpdate, 'runValidator'>,
  identity: string,
): Promise<Outcome> {
  const known = execution.updates.find(given.id);
  if (known) return outcomeOf(known);
  if (!execution.isOpen) throw grpcError('NOT_FOUND', 'workflow execution already completed');
  if (execution.closeAttempted && execution.task?.startedMs)
    throw grpcError('UNAVAILABLE', 'workflow operation can not be applied because workflow is closing');
  const admitted = execution.updates.admit(given, identity);
  if (!execution.task) scheduleTask(namespace, execution, { isSpeculative: true });
  return outcomeOf(admitted);
}

function joinedRun(namespace: Namespace, workflowId: string, { reuse, conflict }: Policies): Execution | undefined {
  const newest = namespace.newest(workflowId);
  if (!newest) return undefined;
  if (newest.isOpen) {
    if (conflict === 'USE_EXISTING') return newest;
    if (conflict === 'FAIL') throw alreadyStarted(newest);
    terminate(namespace, newest, { reason: 'TerminateExisting', identity: 'history-service' });
    return undefined;
  }
  const isRefused =
    reuse === 'REJECT_DUPLICATE' || (reuse === 'ALLOW_DUPLICATE_FAILED_ONLY' && newest.status === 'COMPLETED');
  if (isRefused) throw alreadyStarted(newest);
  return undefined;
}

const alreadyStarted = ({ workflowId, runId }: Execution): Error =>
  grpcError('ALREADY_EXISTS', `Workflow execution already started: WorkflowId: ${workflowId}, RunId: ${runId}.`);
