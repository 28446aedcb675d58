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
  type BusinessOperation,
  type CallFailureType,
  callWaits,
  isCallFailureType,
  isChanging,
  operationTerms,
  parseBusinessCallInput,
  type ServiceCall,
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

/** Above the deadline of an HTTP call (20 s) and the wait for a token (10 s). Only this timeout reveals a dead worker. */
const startToCloseTimeout = 40_000;

const minuteMs = 60_000;

/** The limit of all attempts. A repeated create is safe only while the service remembers its request id, for an unknown time. */
const effortMinutes: Record<(typeof operationTerms)[BusinessOperation]['effect'], number> = {
  none: 5,
  newOrder: 10,
  changedOrder: 15,
  newCodes: 15,
};

const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 };

/**
 * Makes one call and repeats it, within a bounded time, while that is safe and may help. Throws a cancellation, or an `ApplicationFailure`
 * that is not retryable and has one of `callFailureTypes`. Calls `show` if the call takes long, and with null at its end.
 */
export const performCall = (
  call: ServiceCall,
  show: (attention: Attention | null) => void,
): Promise<BusinessCallResult> =>
  whileLong(
    (since) => show(since === null ? null : callWaits(call, since)),
    () => perform(call),
  );

async function perform(call: ServiceCall): Promise<BusinessCallResult> {
  const { callService } = proxyActivities<CallActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: effortMinutes[operationTerms[call.operation].effect] * minuteMs,
    retry,
    taskQueue: accountQueue(call.account),
    priority: { priorityKey: 1 }, // a caller waits for it
    // The result of a changing call matters, and an attempt ends soon.
    cancellationType: isChanging(call.operation) ? 'WAIT_CANCELLATION_COMPLETED' : 'TRY_CANCEL',
    summary: summaryOf(call),
  });
  try {
    return await callService(call);
  } catch (error) {
    throw isCancellation(error) || !(error instanceof ActivityFailure) ? error : toCallFailure(error, call);
  }
}

const summaryOf = ({ operation, orderId, referenceFieldId }: ServiceCall): string =>
  [operation, orderId ?? referenceFieldId].filter((part) => part !== undefined).join(' of ');

/** The failure of a call for its caller: not retryable, with one of `callFailureTypes`. */
export function toCallFailure(
  { cause }: ActivityFailure,
  { operation, account }: Pick<ServiceCall, 'operation' | 'account'>,
): ApplicationFailure {
  if (cause instanceof ApplicationFailure && isCallFailureType(cause.type)) {
    return typed(cause.type, cause.message, cause.details ?? []);
  }
  // The activity reports an unclear outcome itself, unless a timeout ended it.
  if (cause instanceof ApplicationFailure) return typed('Unavailable', `${operation}: ${cause.message}`);
  const noEnd = `${operation}: no worker of account ${account} brought it to its end in time`;
  if (!isChanging(operation)) return typed('Unavailable', `${noEnd}. Check that such a worker runs, then try again.`);
  const remedy = 'Look at the service whether it was carried out before you ask for it again.';
  return typed('OutcomeUnknown', `${noEnd}. ${remedy}`);
}

const typed = (type: CallFailureType, message: string, details: unknown[] = []): ApplicationFailure =>
  ApplicationFailure.create({ type, message, details, nonRetryable: true });
