import { type ActivityOptions, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReceiptActivities } from '../activities/receipt.js';

// What several proxies of activities have in common. Priorities: 1 goes first, 5 last.

/** Every call to the service goes through the queue of its account, which keeps the account's request budget. */
export const accountQueue = (account: string): string => `${workflowInfo().taskQueue}.${account}`;

/** For activities that name each delay themselves: this policy decides only after the death of a worker. */
export const ownDelays = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 };

/** For activities whose caller waits: repeated soon, and not for long. */
export const promptRetry = { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 5_000 };

/** For activities that wait for another run, one question at a time. */
export const waitingOptions = { startToCloseTimeout: 15_000, retry: ownDelays } satisfies ActivityOptions;

/** One look at the service: one HTTP request, whose deadline is 20 s. The server notices a dead worker by the timeout alone. */
export const lookOptions = (account: string, priorityKey: number, summary: string) =>
  ({
    startToCloseTimeout: 30_000,
    retry: ownDelays,
    taskQueue: accountQueue(account),
    priority: { priorityKey },
    // A look that waits ends at once when it is cancelled; the answer to a request under way is dropped.
    cancellationType: 'TRY_CANCEL',
    summary,
  }) satisfies ActivityOptions;

/** Looks at receipts; those at orders go first. */
export const receiptLooks = (account: string, summary: string): ReceiptActivities =>
  proxyActivities<ReceiptActivities>(lookOptions(account, 5, summary));
