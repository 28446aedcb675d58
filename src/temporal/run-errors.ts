import { status } from '@grpc/grpc-js';
import {
  isGrpcDeadlineError,
  isGrpcServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { CallFailureType } from '../domain/call.js';
import { FaretrailError } from '../domain/errors.js';
import { innermostFailure } from './failure-type.js';

/**
 * Codes of `FaretrailClientError`. `NotFound`: Temporal remembers no such run. `AlreadyEnded`: the run takes no more
 * messages, but its result can be read. `NoAnswer`: no worker answered in time, so the outcome of the request is unknown.
 * `Cancelled`, `Terminated`, `TimedOut`: the run was ended from outside. `AnswerUnreadable`: the workers are of another
 * release. Any other code is the type of a failure; a later release may add types.
 */
export type ClientErrorCode =
  | CallFailureType
  | 'NotFound'
  | 'AlreadyEnded'
  | 'NoAnswer'
  | 'Cancelled'
  | 'Terminated'
  | 'TimedOut'
  | 'AnswerUnreadable'
  | (string & Record<never, never>);

/**
 * A request to a run failed; branch on `code`. `details` are those of the failure, such as `{ status, code, message }`
 * of the service for `Refused`. Not for a lost connection: errors of Temporal's own client come as they are.
 */
export class FaretrailClientError extends FaretrailError<ClientErrorCode> {
  override readonly name = 'FaretrailClientError';
  readonly details: readonly unknown[];

  constructor(code: ClientErrorCode, message: string, options: ErrorOptions & { details?: readonly unknown[] } = {}) {
    super(code, message, options);
    this.details = options.details ?? [];
  }
}

const ends = [
  [CancelledFailure, 'Cancelled'],
  [TerminatedFailure, 'Terminated'],
  [TimeoutFailure, 'TimedOut'],
] as const;

/** Translates an error of Temporal's client where we know what it means; returns any other as it is. */
export function toClientError(error: unknown, workflowId: string): unknown {
  if (error instanceof WorkflowNotFoundError) return notFound(workflowId, error);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isGrpcDeadlineError(error)) {
    const message = `${workflowId} did not answer in time: is a worker running?`;
    return new FaretrailClientError('NoAnswer', message, { cause: error });
  }
  if (!isFailed(error)) return error;
  const failure = innermostFailure(error);
  if (failure?.type) {
    const details = failure.details ?? [];
    return new FaretrailClientError(failure.type, failure.message, { cause: error, details });
  }
  const end = ends.find(([kind]) => error.cause instanceof kind);
  return new FaretrailClientError(end?.[1] ?? 'RunFailed', `${workflowId} failed: ${error.message}`, { cause: error });
}

/** The error for a run that Temporal does not know. */
export const notFound = (workflowId: string, cause?: Error): FaretrailClientError =>
  new FaretrailClientError('NotFound', `Temporal knows no run ${workflowId}`, { cause });

/** Is it an error of a run with one of these codes? */
export const hasCode = (error: unknown, ...codes: ClientErrorCode[]): error is FaretrailClientError =>
  error instanceof FaretrailClientError && codes.includes(error.code);

/** The failure that a run ended with, or an update of a run; undefined for any other error. */
export function failureBehind(error: unknown): Error | undefined {
  const original = error instanceof FaretrailClientError ? error.cause : error;
  return isFailed(original) ? (original.cause ?? original) : undefined;
}

const isFailed = (error: unknown): error is WorkflowFailedError | WorkflowUpdateFailedError =>
  error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError;

/** The answer of the server behind an error of Temporal's client, or of ours. */
export function grpcErrorOf(error: unknown): { code: number; details: string } | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (isGrpcServiceError(at)) return at;
  return undefined;
}

/** Did the server answer with one of these codes? */
export function isGrpc(error: unknown, ...names: (keyof typeof status)[]): boolean {
  const code = grpcErrorOf(error)?.code;
  return names.some((name) => status[name] === code);
}
