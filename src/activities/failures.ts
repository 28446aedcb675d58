import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';

/** An expected failure, without a stack: Temporal keeps the last failure of each activity, and the stack would be most of it. */
export function plainFailure(options: ApplicationFailureOptions): ApplicationFailure {
  const failure = ApplicationFailure.create(options);
  failure.stack = '';
  return failure;
}

/** "Not yet", the normal case: a benign failure, which is no error in logs and metrics. Temporal tries again after `afterMs`. */
export const notYet = (message: string, afterMs: number): ApplicationFailure =>
  plainFailure({ type: 'NotYet', message, category: 'BENIGN', nextRetryDelay: toDelay(afterMs) });

/** Temporal never repeats an activity after a delay of 0. */
export const toDelay = (ms: number): number => Math.max(1, Math.ceil(ms));
