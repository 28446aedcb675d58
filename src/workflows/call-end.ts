import { type ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { type CallFailureType, isCallFailureType, isChanging, type ServiceCall } from '../domain/business-call.js';

/** What a call that was given up means for its caller: a failure with one of `callFailureTypes`, not to be retried. */
export function toCallFailure(
  { cause }: ActivityFailure,
  { operation, account }: Pick<ServiceCall, 'operation' | 'account'>,
): ApplicationFailure {
  if (cause instanceof ApplicationFailure && isCallFailureType(cause.type)) {
    return typed(cause.type, cause.message, cause.details ?? []);
  }
  // The activity itself says when a request may have been carried out; only one that was cut off says nothing.
  if (cause instanceof ApplicationFailure) return typed('Unavailable', `${operation}: ${cause.message}`);
  const noEnd = `${operation}: no worker of account ${account} brought it to its end in time`;
  if (!isChanging(operation)) return typed('Unavailable', `${noEnd}. Check that such a worker runs, then try again.`);
  const remedy = 'Look at the service whether it was carried out before you ask for it again.';
  return typed('OutcomeUnknown', `${noEnd}. ${remedy}`);
}

const typed = (type: CallFailureType, message: string, details: unknown[] = []): ApplicationFailure =>
  ApplicationFailure.create({ type, message, details, nonRetryable: true });
