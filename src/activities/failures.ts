import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';

/** A failure that is a normal thing. Temporal keeps the last one of each activity, so it carries no stack: that would be most of it. */
export function plainFailure(options: ApplicationFailureOptions): ApplicationFailure {
  const failure = ApplicationFailure.create(options);
  failure.stack = '';
  return failure;
}

/** "Not yet" is the normal case: benign failures are no errors in logs and metrics. Temporal tries again `afterMs` later. */
export const notYet = (message: string, afterMs: number): ApplicationFailure =>
  plainFailure({ type: 'NotYet', message, category: 'BENIGN', nextRetryDelay: toDelay(afterMs) });

/** Temporal takes a delay of 0 for "never again". */
export const toDelay = (ms: number): number => Math.max(1, Math.ceil(ms));
