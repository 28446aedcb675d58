import { ApplicationFailure } from '@temporalio/workflow';
import { InvalidInput } from '../domain/errors.js';

/** Runs a parser; its `InvalidInput` becomes the failure type of that name, which ends the run or refuses the update. */
export function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw ApplicationFailure.nonRetryable(error.message, error.code);
    throw error;
  }
}
