import { type ActivityOptions, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReceiptActivities } from '../activities/receipt.js';
import { maxFollowForMs } from '../domain/order/input.js';
import { accountQueueOf, watchQueueOf } from '../domain/task-queues.js';
import { nextReadingId } from '../domain/watch.js';

// Options of several activities. Priorities in the queue of an account, of which 1 goes first: 1 what others wait for (token requests, the watch)
// and a person's hand-over, 2 calls of people and callers, 3 reads of orders, 4 first reads of orders, 5 receipts.

/** The task queue of an account, whose rate limit is the account's request budget. */
export const accountQueue = (account: string): string => accountQueueOf(workflowInfo().taskQueue, account);

/** For activities that set each delay themselves: this policy applies only after the death of a worker. */
export const ownDelays = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 };

/** For activities whose caller waits. */
export const promptRetry = { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 5_000 };

/** For activities that look at Temporal until there is news. The retry applies only while Temporal does not answer. */
export const untilNews = {
  startToCloseTimeout: 60_000,
  retry: { initialInterval: 10_000, backoffCoefficient: 2, maximumInterval: 600_000 },
  cancellationType: 'TRY_CANCEL',
} satisfies ActivityOptions;

/** For activities that wait for another run. */
export const waitingOptions = { startToCloseTimeout: 15_000, retry: ownDelays } satisfies ActivityOptions;

/** One look at the service: one HTTP request with a deadline of 20 s. Only the timeout reveals a dead worker. */
export const lookOptions = (account: string, priorityKey: number, summary: string) =>
  ({
    startToCloseTimeout: 30_000,
    retry: ownDelays,
    taskQueue: accountQueue(account),
    priority: { priorityKey },
    // A cancelled look ends at once and drops the answer to a request under way.
    cancellationType: 'TRY_CANCEL',
    summary,
  }) satisfies ActivityOptions;

/** The queue that only the process with the watch of the account polls. */
const watchQueue = (account: string): string => watchQueueOf(workflowInfo().taskQueue, account);

/** The type with which the SDK fails an activity that a worker does not have. */
export const unknownActivity = 'NotFoundError';

/**
 * The pending read of an order: it stays open until the watch completes it by its id. The retry applies while no
 * process takes it for good.
 */
export const nextReadingOptions = (account: string, scheduleToStartTimeout: number) =>
  ({
    activityId: nextReadingId,
    scheduleToStartTimeout,
    startToCloseTimeout: maxFollowForMs,
    retry: {
      initialInterval: 1_000,
      backoffCoefficient: 2,
      maximumInterval: 60_000,
      nonRetryableErrorTypes: [unknownActivity],
    },
    taskQueue: watchQueue(account),
    cancellationType: 'ABANDON',
    summary: 'Polled by the watch of the account until something changes',
  }) satisfies ActivityOptions;

export const joinOptions = (account: string, scheduleToStartTimeout: number) =>
  ({
    scheduleToStartTimeout,
    startToCloseTimeout: 10_000,
    retry: promptRetry,
    taskQueue: watchQueue(account),
    cancellationType: 'TRY_CANCEL',
    summary: 'Hand the order to the watch of the account',
  }) satisfies ActivityOptions;

/** Looks at receipts; those at orders go first. */
export const receiptLooks = (account: string, summary: string): ReceiptActivities =>
  proxyActivities<ReceiptActivities>(lookOptions(account, 5, summary));
