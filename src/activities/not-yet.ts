import { ApplicationFailure } from '@temporalio/common';

/** "Not yet" is the normal case: benign failures are no errors in logs and metrics. Temporal tries again `afterMs` later. */
export const notYet = (message: string, afterMs: number): ApplicationFailure =>
  ApplicationFailure.create({ type: 'NotYet', message, category: 'BENIGN', nextRetryDelay: toDelay(afterMs) });

/** Temporal takes a delay of 0 for "never again". */
export const toDelay = (ms: number): number => Math.max(1, Math.ceil(ms));
