import { ApplicationFailure } from '@temporalio/common';
import * as nexus from 'nexus-rpc';
import { InvalidInput } from '../domain/errors.js';

/** Runs a parser; its `InvalidInput` becomes an error of the operation that is not tried again. */
export function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw refusal('BAD_REQUEST', error.message, error.code);
    throw error;
  }
}

/** An error that is not tried again. Its cause has the type that callers branch on, as failures of runs have. */
export const refusal = (kind: 'BAD_REQUEST' | 'NOT_FOUND', message: string, type: string): nexus.HandlerError =>
  new nexus.HandlerError(kind, message, { cause: ApplicationFailure.nonRetryable(message, type) });
