import { ActivityFailure, isCancellation, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { CallActivities } from '../activities/call-activities.js';
import type { Attention } from '../domain/attention.js';
import {
  type BusinessCallResult,
  type BusinessOperation,
  callWaits,
  isChanging,
  type ServiceCall,
} from '../domain/business-call.js';
import { toCallFailure } from './call-end.js';
import { whileLong } from './long-wait.js';

/** Above the deadline of an HTTP call (20 s) and the wait for a token (10 s). A dead worker is noticed only by it. */
const startToCloseTimeout = 40_000;

const minuteMs = 60_000;

/** How long a call is tried in all. A repeated create is safe while the service remembers its request id, and nobody knows
 *  how long that is. */
function effortMs(operation: BusinessOperation): number {
  if (operation === 'createOrder') return 10 * minuteMs;
  return (isChanging(operation) ? 15 : 5) * minuteMs;
}

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
    scheduleToCloseTimeout: effortMs(call.operation),
    retry,
    taskQueue: `${workflowInfo().taskQueue}.${call.account}`,
    priority: { priorityKey: 1 }, // somebody waits for it
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
