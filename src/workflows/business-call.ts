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
  effects,
  isCallFailureType,
  isChanging,
  parseBusinessCallInput,
  type ServiceCall,
} from '../domain/call.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { accountQueue } from './activity-options.js';
import { refuseBadInput, requireWorkflowId, whileLong } from './run-kit.js';
import { writeAccount, writeAttention } from './search-attributes.js';

/**
 * One operation of the business interface, carried to its end. Its id is the caller's identity of the call, so asking twice
 * is asking once. Fails with one of `callFailureTypes`.
 */
export async function businessCall(rawInput: BusinessCallInput): Promise<BusinessCallResult> {
  const input = refuseBadInput(() => parseBusinessCallInput(rawInput));
  requireWorkflowId(businessCallId(input));
  const { key: _, ...call } = input;
  writeAccount(call.account);
  // The id itself: the same for every run and attempt, free of secrets, and the same words in both systems.
  return await performCall({ ...call, requestId: workflowInfo().workflowId }, showWaiting);
}

/** In the Temporal UI and in the list of what needs a person. */
function showWaiting(attention: Attention | null): void {
  setCurrentDetails(attention === null ? '' : `**Attention: ${attention.code}**: ${attention.message}`);
  writeAttention(attention);
}

/** Above the deadline of an HTTP call (20 s) and the wait for a token (10 s). A dead worker is noticed only by it. */
const startToCloseTimeout = 40_000;

const minuteMs = 60_000;

/** How long a call is tried in all. A repeated create is safe while the service remembers its request id, and we do not know
 *  how long that is. */
const effortMinutes: Record<(typeof effects)[BusinessOperation], number> = {
  none: 5,
  newOrder: 10,
  changedOrder: 15,
  newCodes: 15,
};

const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 };

/**
 * Carries one call to its end: repeated as long as that is safe and may help, within a bounded time. Throws an
 * `ApplicationFailure` that is not retryable and has one of `callFailureTypes`; passes a cancellation on. `show` is told when
 * that takes long, and with null when it is over.
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
    scheduleToCloseTimeout: effortMinutes[effects[call.operation]] * minuteMs,
    retry,
    taskQueue: accountQueue(call.account),
    priority: { priorityKey: 1 }, // a caller waits for it
    // What a changing call came to is worth waiting for; an attempt ends by itself.
    cancellationType: isChanging(call.operation) ? 'WAIT_CANCELLATION_COMPLETED' : 'TRY_CANCEL',
    summary: summaryOf(call),
  });
  try {
    return await callService(call);
  } catch (error) {
    throw isCancellation(error) || !(error instanceof ActivityFailure) ? error : toCallFailure(error, call);
  }
}

/** One line for people who look at the run. */
const summaryOf = ({ operation, orderId, referenceFieldId }: ServiceCall): string =>
  [operation, orderId ?? referenceFieldId].filter((part) => part !== undefined).join(' of ');

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
