import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReceiptActivities } from '../activities/receipt-activities.js';
import type { ReceiptLookInput, ReceiptObservation } from '../domain/company-report.js';
import { unless } from './interruptible.js';

/** The activities name each delay themselves; this one speaks after the death of a worker. */
const retry = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 };

const receipts = (account: string, summary: string): ReceiptActivities =>
  proxyActivities<ReceiptActivities>({
    startToCloseTimeout: 30_000, // the deadline of an HTTP call is 20 s
    retry,
    taskQueue: `${workflowInfo().taskQueue}.${account}`,
    priority: { priorityKey: 5 }, // orders go first
    cancellationType: 'TRY_CANCEL',
    summary,
  });

/** Reads the receipt after a report. Further reports do not interrupt it; undefined when `mustLeave` came first. */
export const readNow = (look: ReceiptLookInput, mustLeave: () => boolean): Promise<ReceiptObservation | undefined> =>
  unless(mustLeave, () => receipts(look.account, 'Read the receipt after a report').readReceipt(look));

/** Looks on while there is none; undefined when `interrupted` became true first. */
export const lookOn = (look: ReceiptLookInput, interrupted: () => boolean): Promise<ReceiptObservation | undefined> =>
  unless(interrupted, () => receipts(look.account, `Look for the receipt: ${look.shown}`).awaitReceipt(look));
