import { isGrpcDeadlineError } from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError } from '@temporalio/common';
import { CommanderError } from 'commander';
import { FaretrailError } from '../domain/errors.js';
import { PayloadCodecError } from '../sealing/payload-codec.js';
import { failureBehind, grpcErrorOf, hasCode } from '../temporal/run-errors.js';
import { TemporalConnectionError } from '../temporal/settings.js';
import { plain } from './text.js';

/** Exit codes of every command; `interrupted` is what shells expect of Ctrl-C. */
export const exitCodes = { done: 0, failed: 1, usage: 2, notFound: 3, interrupted: 130 } as const;

/** There is no such thing, which has an exit code of its own. */
const notFound = ['NotFollowed', 'NotSubscribed', 'NotParked', 'NotRequested', 'NotMissed', 'NothingKept'] as const;
type FailureCode =
  | (typeof notFound)[number]
  | ('NotInPlace' | 'ContentUnreadable' | 'NoWorker' | 'NoAnswer' | 'StillRunning' | 'NotConfirmed' | 'FilterRefused');

/** A command failed; the message says why and what to do. Not for wrong usage. */
export class CliFailure extends FaretrailError<FailureCode> {
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

const isNotFound = ({ code }: CliFailure): boolean => notFound.some((one) => one === code);
/** What a person has to correct before it is of use to try again; settings that name nothing usable included. */
const usageCodes = ['ConfigError', 'InvalidInput', 'NamespaceUnknown', 'CodecPortUnusable', 'UnfitDatabase'];
const isUsage = (error: FaretrailError): boolean =>
  usageCodes.includes(error.code) || error instanceof TemporalConnectionError;

/** Every error as one code, one message and one exit code. */
export function toCliError(error: unknown): CliError {
  const failed = (code: string, message: string, exitCode: number = exitCodes.failed) => ({ code, message, exitCode });
  if (error instanceof CommanderError)
    return failed('UsageError', plain(usageText(error.message).replaceAll('\n', ' ')), exitCodes.usage);
  const failure = failureBehind(error);
  if (failure) return { ...toRunFailure(failure), exitCode: exitCodes.failed };
  if (error instanceof CliFailure)
    return failed(error.code, error.message, isNotFound(error) ? exitCodes.notFound : exitCodes.failed);
  if (error instanceof FaretrailError && !hasCode(error, 'NoAnswer')) {
    const isWrong = isUsage(error) && !(error instanceof RunFailed);
    return failed(error.code, error.message, isWrong ? exitCodes.usage : exitCodes.failed);
  }
  if (error instanceof NamespaceNotFoundError)
    return failed('NamespaceUnknown', 'TEMPORAL_NAMESPACE: Temporal knows no such namespace', exitCodes.usage);
  if (hasCode(error, 'NoAnswer') || isGrpcDeadlineError(error))
    return failed('NoAnswer', 'Temporal did not answer in time. Try again, or look for the cause: faretrail doctor');
  const answer = grpcErrorOf(error);
  const message = answer?.details ?? (error instanceof Error ? error.message : String(error));
  return failed(answer ? 'TemporalError' : 'UnexpectedError', message);
}

/** Our parsers name the option or argument themselves, so commander need not do so before them. */
const usageText = (message: string): string =>
  message.replace(/^error: /, '').replace(/^(option|command-argument) .* is invalid( for argument '[^']*')?\. /s, '');

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
