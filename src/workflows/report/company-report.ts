import { condition, patched, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { DeliveryNotice } from '../../domain/delivery.js';
import { isSameId } from '../../domain/keys.js';
import type { StoredReceipt } from '../../domain/notify/notices.js';
import {
  type CompanyReport,
  type CompanyReportInput,
  type CompanyReportNotice,
  describeReport,
  openReport,
  parseCompanyReportInput,
  type ReceiptObservation,
  recordDeliveries,
  recordReceipt,
  toReportEvent,
  toReportNotice,
} from '../../domain/report.js';
import { companyReportId, type FollowOrderKey, fromCompanyReportId } from '../../domain/workflow-ids.js';
import { receiptLooks } from '../activity-options.js';
import {
  type CarriedDeliveries,
  carryDeliveries,
  type DeliveryInbox,
  hasTooManySignals,
  isReadWanted,
  listenToDeliveries,
  openDeliveryInbox,
} from '../delivery-inbox.js';
import { reportStatusQuery } from '../messages.js';
import { type CarriedNotifier, createNotifier, type Notifier } from '../notify/notifier.js';
import {
  continueRun,
  defaultMaxEvents,
  isOnOldVersion,
  isTimeToContinue,
  refuseBadInput,
  requireWorkflowId,
  runBeside,
  setHandler,
  unless,
} from '../run-kit.js';
import { writeAccount, writeAttention } from '../search-attributes.js';
import { settle } from '../settling.js';

/** When a run continues as new, if the server does not hint at it before, and when it ends. */
export interface CompanyReportLimits {
  maxEvents: number;
  maxSignals: number;
  quietMs: number;
}

/** A receipt is usually final within seven days (published). */
const defaultLimits: CompanyReportLimits = { maxEvents: defaultMaxEvents, maxSignals: 5_000, quietMs: 7 * 86_400_000 };

/** Long enough for the repeats of a delivery. Nothing is read and nothing told, and anyone who knows an address can start such runs. */
const unaskedQuietMs = 10 * 60_000;

interface ReportInbox extends DeliveryInbox {
  /** Epoch milliseconds of the last report, or of the start. */
  lastAt: number;
  /** The run ends, since no report has come for `quietMs`. */
  isQuiet: boolean;
}

/** What a run hands to the next one when it continues as new; tests set it too. Plain JSON. */
interface CompanyReportProgress {
  limits?: CompanyReportLimits;
  carried?: {
    report: CompanyReport;
    notBefore: string | null;
    inbox: CarriedDeliveries & Pick<ReportInbox, 'lastAt'>;
    notifier: CarriedNotifier<CompanyReportNotice>;
  };
}

interface Reporting {
  readonly input: CompanyReportInput;
  readonly limits: CompanyReportLimits;
  readonly inbox: ReportInbox;
  readonly notifier: Notifier<CompanyReport, CompanyReportNotice>;
  report: CompanyReport;
  /** No look before this instant, because of the service or our back-off. */
  notBefore: string | null;
}

/**
 * Reports about one order, or one report without an order. A report is a hint that leads to a read of the receipt; one read answers all
 * reports before it. The run ends seven days after the last report, or ten minutes if it names no order and has no receiver. Fails
 * with `InvalidInput` (names the field).
 */
export async function companyReport(
  input: CompanyReportInput,
  progress?: CompanyReportProgress,
): Promise<CompanyReport> {
  const run = open(input, progress);
  setHandler(reportStatusQuery, () => run.report);
  listenToDeliveries(run.inbox, (deliveries) => recordReports(run, deliveries));
  runBeside(watchQuiet(run.inbox, run.limits.quietMs));
  try {
    while (!isOver(run)) {
      await handleNext(run);
      await continueIfLong(run);
    }
  } finally {
    await run.notifier.settled();
  }
  return run.report;
}

function open(rawInput: CompanyReportInput, { limits, carried }: CompanyReportProgress = {}): Reporting {
  const input = refuseBadInput(() => parseCompanyReportInput(rawInput));
  requireWorkflowId(expectedId(input));
  if (!carried) writeAccount(input.account);
  const run: Reporting = {
    input,
    limits: limits ?? limitsOf(input),
    inbox: { ...openDeliveryInbox(carried?.inbox), lastAt: carried?.inbox.lastAt ?? Date.now(), isQuiet: false },
    notifier: createNotifier({
      account: input.account,
      receivers: () => input.notify ?? [],
      carried: carried?.notifier,
      onUndelivered: () => showReport(run),
      toNotice: toReportNotice,
      toEvent: toReportEvent,
      isNews: () => true, // a duplicate is told too
      isLast: () => false,
      maxWaiting: 20, // each may hold a receipt
    }),
    report: carried?.report ?? openReport(input),
    notBefore: carried?.notBefore ?? null,
  };
  return run;
}

/** Those of a run that continues another are given. */
function limitsOf({ orderId, notify = [] }: CompanyReportInput): CompanyReportLimits {
  const isUnasked = orderId === undefined && notify.length === 0;
  return isUnasked ? { ...defaultLimits, quietMs: unaskedQuietMs } : defaultLimits;
}

/** Without an order the workflow id holds the id of the delivery. */
function expectedId({ account, orderId }: CompanyReportInput): string {
  const named = fromCompanyReportId(workflowInfo().workflowId)?.about;
  const isNamed = named !== undefined && (orderId === undefined || isSameId(named, orderId)); // 0.2.0 spelled it as it came
  const about = isNamed ? named : orderId;
  return about === undefined ? `report/${account}/<delivery id>` : companyReportId({ account, about });
}

function recordReports(run: Reporting, deliveries: DeliveryNotice[]): void {
  const { report, seen } = recordDeliveries(run.report, run.inbox.seenDeliveries, deliveries);
  run.report = report;
  run.inbox.seenDeliveries = seen;
  run.inbox.lastAt = Date.now();
}

/** Keeps one timer. If a report came meanwhile, another timer runs for the rest. */
async function watchQuiet(inbox: ReportInbox, quietMs: number): Promise<void> {
  const leftMs = () => inbox.lastAt + quietMs - Date.now();
  for (;;) {
    await sleep(Math.max(leftMs(), 1), { summary: 'End if nothing more is reported' });
    if (leftMs() > 0) continue;
    inbox.isQuiet = true;
    await condition(() => leftMs() > 0);
    inbox.isQuiet = false;
  }
}

const isOver = ({ inbox }: Reporting): boolean => inbox.isQuiet && !isReadWanted(inbox);

/** Reads the receipt after a report, or looks on for one that is missing, and tells what it found. */
async function handleNext(run: Reporting): Promise<void> {
  const { inbox, input } = run;
  const mustLeave = () => mustContinueSoon(run) || isOver(run);
  const isInterrupted = () => isReadWanted(inbox) || mustLeave();
  const isWanted = isReadWanted(inbox);
  const serves = inbox.asked;
  const shown = run.report.unavailable?.code ?? null;
  if (!isWanted && (input.orderId === undefined || shown === null)) return await condition(isInterrupted);
  if (input.orderId !== undefined) {
    const look = { account: input.account, orderId: input.orderId, shown, notBefore: run.notBefore };
    // Further reports do not interrupt a read after a report.
    const seen = isWanted
      ? await unless(mustLeave, () => receiptLooks(input.account, 'Read the receipt after a report').readReceipt(look))
      : await unless(isInterrupted, () =>
          receiptLooks(input.account, `Look for the receipt: ${shown}`).awaitReceipt(look),
        );
    if (seen === undefined) return;
    storeReceipt(run, { account: input.account, orderId: input.orderId }, seen);
    run.report = recordReceipt(run.report, seen);
    run.notBefore = seen.kind === 'trouble' ? seen.notBefore : null;
    showReport(run);
  }
  if (isWanted) inbox.served = serves;
  run.notifier.tell(run.report);
  await condition(run.notifier.isQuiet);
  showReport(run);
}

/** The reading at the end of a ride is provisional, so later ones reach the store, too. It makes a row only of other amounts. */
function storeReceipt(run: Reporting, key: FollowOrderKey, seen: ReceiptObservation): void {
  if (seen.kind !== 'receipt' || !seen.amounts) return; // no store
  const isNews = JSON.stringify(seen.receipt) !== JSON.stringify(run.report.receipt);
  if (!isNews || !patched('reports-reach-the-store')) return;
  const data: StoredReceipt = { ...key, ...seen.amounts };
  run.notifier.recordAlone({ type: 'ride.receipt', data });
}

/** Without waiting for a read under way, which the next run makes. */
const mustContinueSoon = ({ inbox, limits }: Reporting): boolean =>
  isOnOldVersion() || hasTooManySignals(inbox, limits);

function mustContinue(run: Reporting): boolean {
  const { inbox, limits } = run;
  const isLong = !isReadWanted(inbox) && isTimeToContinue(limits.maxEvents);
  return !isOver(run) && (isLong || mustContinueSoon(run));
}

async function continueIfLong(run: Reporting): Promise<void> {
  if (!mustContinue(run)) return;
  await settle();
  const { input, limits, report, notBefore, inbox, notifier } = run;
  const carriedInbox = { ...carryDeliveries(inbox), lastAt: inbox.lastAt };
  await continueRun<typeof companyReport>([
    input,
    { limits, carried: { report, notBefore, inbox: carriedInbox, notifier: notifier.carry() } },
  ]);
}

/** Shows the report in the Temporal UI. */
function showReport({ report, notifier }: Reporting): void {
  setCurrentDetails(describeReport(report, notifier.undelivered()));
  writeAttention(report.attention);
}
