import { sleep } from '@temporalio/workflow';
import type { StoredReceipt } from '../../domain/notify/notices.js';
import {
  type CompanyReport,
  openReport,
  type ReceiptAmounts,
  type ReceiptLookInput,
  type ReceiptObservation,
  recordReceipt,
} from '../../domain/report.js';
import type { RideOutcome, RideStanding } from '../../domain/ride/ride.js';
import { receiptLooks } from '../activity-options.js';
import { firstOf } from '../run-kit.js';
import { orderKey } from './following.js';
import { type Ride, setStanding } from './state.js';

/** A cancelled ride may cost a fee. The other orders have not ended at the service, or do not exist. */
const hasReceipt: Record<RideOutcome, boolean> = {
  completed: true,
  cancelled: true,
  rejected: false,
  stopped: false,
  expired: false,
  withdrawn: false,
};

/** For one more read of a receipt: the service may be slow or ask for a short wait. */
const patienceMs = 60_000;

/** Reads a wanted and expected receipt, again and again until it is settled or the time is over. */
export async function readReceipt(ride: Ride, continueIfLong: () => Promise<void>): Promise<void> {
  const { outcome } = ride.standing;
  if (ride.input.receipt !== true || outcome === null || !hasReceipt[outcome]) return;
  ride.report ??= openReport(orderKey(ride));
  ride.receiptTimes ??= { since: new Date().toISOString(), unchangedSince: null };
  while (!isSettled(ride)) {
    await look(ride);
    await continueIfLong();
  }
}

/** The receipt for callers who do not want to wait for the end of the ride. */
export function shownReceipt(ride: Ride): Pick<RideStanding, 'receipt' | 'isReceiptSettled'> {
  const receipt = ride.report?.receipt;
  return receipt ? { receipt, isReceiptSettled: ride.standing.stage === 'ended' || isSettled(ride) } : {};
}

/** When the ride stops looking for the receipt, in milliseconds since the epoch. */
function endsAt({ limits, receiptTimes }: Ride): number {
  const since = Date.parse(receiptTimes?.since ?? '');
  if (!receiptTimes?.unchangedSince) return since + limits.firstReceiptMs;
  return Math.min(since + limits.receiptAtMostMs, Date.parse(receiptTimes.unchangedSince) + limits.receiptUnchangedMs);
}

/** `notOffered`: the account's interface has no receipts. */
const isSettled = (ride: Ride): boolean =>
  Date.now() >= endsAt(ride) || ride.report?.unavailable?.code === 'notOffered';

async function look(ride: Ride): Promise<void> {
  const leftMs = Math.max(endsAt(ride) - Date.now(), 1);
  const seen = ride.report?.receipt ? await lookAgain(ride, leftMs) : await lookForFirst(ride, leftMs);
  if (seen && ride.report && ride.receiptTimes) record(ride, ride.report, seen);
}

function record(ride: Ride, before: CompanyReport, seen: ReceiptObservation): void {
  ride.report = recordReceipt(before, seen);
  const { receipt, attention } = ride.report;
  const isNews = JSON.stringify(receipt) !== JSON.stringify(before.receipt);
  if (isNews && ride.receiptTimes) ride.receiptTimes.unchangedSince = new Date().toISOString();
  if (seen.kind === 'receipt' && seen.amounts) store(ride, seen.amounts, isNews);
  setStanding(ride, { attention });
}

/** Receipts are recorded in the store, and told nobody else. */
function store(ride: Ride, amounts: ReceiptAmounts, isNews: boolean): void {
  const { account, orderId } = ride.standing;
  const isFirst = ride.notifier.addStore(ride);
  const data: StoredReceipt = { account, orderId, ...amounts };
  if (isNews || isFirst) ride.notifier.tellStore({ type: 'ride.receipt', data });
}

const lookForFirst = (ride: Ride, leftMs: number): Promise<ReceiptObservation | undefined> =>
  within(leftMs, () => receiptLooks(ride.input.account, 'Wait for the first receipt').awaitReceipt(lookInput(ride)));

async function lookAgain(ride: Ride, leftMs: number): Promise<ReceiptObservation | undefined> {
  const waitMs = Math.min(ride.limits.receiptEveryMs, leftMs);
  await sleep(waitMs, { summary: 'Until the receipt is read again' });
  const summary = 'Read the receipt again: it may have been recalculated';
  return await within(Math.max(leftMs - waitMs, patienceMs), () =>
    receiptLooks(ride.input.account, summary).readReceipt(lookInput(ride)),
  );
}

const lookInput = (ride: Ride): ReceiptLookInput => ({
  ...orderKey(ride),
  shown: ride.report?.unavailable?.code ?? null,
  notBefore: null,
});

/** Undefined if the time was over first. */
const within = <T>(ms: number, act: () => Promise<T>): Promise<T | undefined> =>
  firstOf<T | undefined>(() => ({
    activity: act(),
    others: [sleep(ms, { summary: 'No longer than this' }).then(() => undefined)],
  }));
