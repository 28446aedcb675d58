import { ApplicationFailure } from '@temporalio/common';
import {
  ActivityFailure,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallActivities } from '../activities/call.js';
import type { Attention } from '../domain/attention.js';
import {
  type BusinessCallInput,
  type BusinessCallResult,
  callSummary,
  callTerms,
  callWaits,
  isChanging,
  isStoreAnswer,
  parseBusinessCallInput,
  type ServiceCall,
  toCallFailure,
} from '../domain/call.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { accountQueue } from './activity-options.js';
import { refuseBadInput, requireWorkflowId, whileLong } from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/** One operation of the business interface. The workflow id holds the caller's key, so a repeated start has no second effect. Fails
 *  with one of `callFailureTypes`. */
export async function businessCall(rawInput: BusinessCallInput): Promise<BusinessCallResult> {
  const input = refuseBadInput(() => parseBusinessCallInput(rawInput));
  requireWorkflowId(businessCallId(input));
  const { key: _, ...call } = input;
  writeAccount(call.account);
  // The workflow id is the same for every run and attempt, and holds no secret.
  return await performCall({ ...call, requestId: workflowInfo().workflowId }, showWaiting);
}

/** Shows that the call takes long. */
function showWaiting(attention: Attention | null): void {
  setCurrentDetails(attention === null ? '' : `**Attention: ${attention.code}**: ${attention.message}`);
  writeAttention(attention);
}

/**
 * Makes one call and repeats it, within a bounded time, while that is safe and may help. Throws a cancellation, or an `ApplicationFailure`
 * that is not retryable and has one of `callFailureTypes`. Calls `show` if the call takes long, and with null at its end; `onStore` if the
 * call asks for the store and the worker has one.
 */
export const performCall = (
  call: ServiceCall,
  show: (attention: Attention | null) => void,
  onStore: () => void = () => undefined,
): Promise<BusinessCallResult> =>
  whileLong(
    (since) => show(since === null ? null : callWaits(call, since)),
    () => perform(call, onStore),
  );

async function perform(call: ServiceCall, onStore: () => void): Promise<BusinessCallResult> {
  const { callService } = proxyActivities<CallActivities>({
    ...callTerms(call.operation),
    taskQueue: accountQueue(call.account),
    // The result of a changing call matters, and an attempt ends soon.
    cancellationType: isChanging(call.operation) ? 'WAIT_CANCELLATION_COMPLETED' : 'TRY_CANCEL',
    summary: callSummary(call),
  });
  try {
    const { stores, ...result } = await callService(call);
    if (stores) onStore();
    return result;
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    const failure = toCallFailure(error.cause instanceof ApplicationFailure ? error.cause : null, call);
    if (failure.details.some(isStoreAnswer)) onStore();
    const details = failure.details.filter((detail) => !isStoreAnswer(detail));
    throw ApplicationFailure.create({ ...failure, details, nonRetryable: true });
  }
}
