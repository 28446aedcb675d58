import { isGrpcDeadlineError } from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError } from '@temporalio/common';
import { CommanderError } from 'commander';
import { FaretrailError } from '../domain/errors.js';
import { PayloadCodecError } from '../sealing/payload-codec.js';
import { failureBehind, grpcErrorOf, hasCode } from '../temporal/run-errors.js';
import { plain } from './text.js';

/** Exit codes of every command; `interrupted` is what shells expect of Ctrl-C. */
export const exitCodes = { done: 0, failed: 1, usage: 2, notFound: 3, interrupted: 130 } as const;

export type CliFailureCode =
  | 'NotFollowed'
  | 'NotSubscribed'
  | 'NotParked'
  | 'NotRequested'
  | 'NotInPlace'
  | 'ContentUnreadable'
  | 'NoWorker'
  | 'NoAnswer'
  | 'NothingKept'
  | 'StillRunning'
  | 'NotConfirmed'
  | 'SearchAttributesMissing'
  | 'FilterRefused';

/** A command failed; the message says why and what to do. Not for wrong usage. */
export class CliFailure extends FaretrailError<CliFailureCode> {
  override readonly name = 'CliFailure';
}

/** For `catch`: the webhook keys of this command cannot unseal what the ingress has sealed. */
export function tellUnreadable(error: unknown): never {
  if (!(error instanceof FaretrailError)) throw error;
  if (error instanceof CliFailure || error instanceof PayloadCodecError) throw error; // not about these keys
  const message = `${error.message} (FARETRAIL_WEBHOOK_KEYS must be those of the ingress)`;
  throw new CliFailure('ContentUnreadable', message, { cause: error });
}

/** The run that a command waited for has failed; `code` is its failure type. */
export class RunFailed extends FaretrailError {
  override readonly name = 'RunFailed';
}

/** An error as a command reports it. `code` is stable, `message` is for people. */
export interface CliError {
  code: string;
  message: string;
  exitCode: number;
}

/** Codes of errors whose exit code is not 1. */
const exitCodeOf: Readonly<Record<string, number>> = {
  ConfigError: exitCodes.usage,
  InvalidInput: exitCodes.usage,
  TemporalSettingsInvalid: exitCodes.usage,
  NotFollowed: exitCodes.notFound,
  NotSubscribed: exitCodes.notFound,
  NotParked: exitCodes.notFound,
  NotRequested: exitCodes.notFound,
  NothingKept: exitCodes.notFound,
};

/** Every error as one code, one message and one exit code. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CommanderError) {
    const message = plain(error.message.replace(/^error: /, '').replaceAll('\n', ' '));
    return { code: 'UsageError', message, exitCode: exitCodes.usage };
  }
  const failure = failureBehind(error);
  if (failure) return { ...toRunFailure(failure), exitCode: exitCodes.failed };
  if (error instanceof FaretrailError && !hasCode(error, 'NoAnswer')) {
    const exitCode = error instanceof RunFailed ? undefined : exitCodeOf[error.code];
    return { code: error.code, message: error.message, exitCode: exitCode ?? exitCodes.failed };
  }
  if (error instanceof NamespaceNotFoundError) {
    const message = `Temporal knows no namespace "${error.namespace}"; correct TEMPORAL_NAMESPACE`;
    return { code: 'NamespaceUnknown', message, exitCode: exitCodes.failed };
  }
  if (hasCode(error, 'NoAnswer') || isGrpcDeadlineError(error)) {
    const message = 'Temporal did not answer in time. Try again, or look for the cause: faretrail doctor';
    return { code: 'NoAnswer', message, exitCode: exitCodes.failed };
  }
  const answer = grpcErrorOf(error);
  const message = answer?.details ?? (error instanceof Error ? error.message : String(error));
  return { code: answer ? 'TemporalError' : 'UnexpectedError', message, exitCode: exitCodes.failed };
}

/** Why a run or its update failed: our failure type, or Temporal's word for the end. */
export interface RunFailure {
  code: string;
  message: string;
}

/** The failure of a run or of an update, with what the service said. */
export function toRunFailure(cause: Error): RunFailure {
  const { type, details } = cause instanceof ApplicationFailure ? cause : { type: undefined, details: undefined };
  const [said] = details ?? [];
  const words = typeof said === 'object' && said !== null && 'message' in said ? said.message : undefined;
  const message = typeof words === 'string' ? `${cause.message} The service says: "${words}"` : cause.message;
  return { code: type || cause.name.replace(/Failure$/, ''), message };
}
