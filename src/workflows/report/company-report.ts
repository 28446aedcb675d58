import {
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ReceiptActivities } from '../../activities/receipt.js';
import { InvalidInput } from '../../domain/errors.js';
import type { NoticeLog } from '../../domain/notify/notice-log.js';
import {
  type CompanyReport,
  type CompanyReportInput,
  describeReport,
  openReport,
  parseCompanyReportInput,
  type ReceiptLookInput,
  type ReceiptObservation,
  recordReceipt,
} from '../../domain/report.js';
import { companyReportId, fromCompanyReportId } from '../../domain/workflow-ids.js';
import { handOver } from '../notify/late-notices.js';
import { carryNotices } from '../notify/url-notices.js';
import { refuseBadInput, unless } from '../run-kit.js';
import { rideAccountKey, rideAttentionKey } from '../search-attributes.js';
import {
  type CarriedInbox,
  carryInbox,
  isReadWanted,
  listen,
  openInbox,
  type ReportInbox,
  watchQuiet,
} from './inbox.js';
import { createReportNotifier, type ReportNotifier } from './notices.js';

/** When a run continues as new, beside the server's own hint, and when it ends. */
export interface CompanyReportLimits {
  maxEvents: number;
  maxSignals: number;
  quietMs: number;
}

/** A receipt is usually final within seven days (assumed, upstream section 5.3). */
const defaultLimits: CompanyReportLimits = { maxEvents: 4_000, maxSignals: 5_000, quietMs: 7 * 86_400_000 };

/** What a run hands to the run that continues it, and tests set. Plain JSON. */
interface CompanyReportProgress {
  limits?: CompanyReportLimits;
  carried?: { report: CompanyReport; notBefore: string | null; inbox: CarriedInbox; notices?: NoticeLog };
}

interface Reporting {
  readonly input: CompanyReportInput;
  readonly limits: CompanyReportLimits;
  readonly inbox: ReportInbox;
  readonly notifier: ReportNotifier;
  report: CompanyReport;
  /** No look before this instant: the service, or our back-off, said so. */
  notBefore: string | null;
}

/**
 * Reports about one order, or one that names none. A report is a hint: it leads to reading the receipt (R17), one read for
 * all that came before it. Ends when nothing was reported for seven days. Fails with `InvalidInput` (names the field).
 */
export async function companyReport(
  input: CompanyReportInput,
  progress?: CompanyReportProgress,
): Promise<CompanyReport> {
  const run = open(input, progress);
  listen(run, run.inbox);
  watchQuiet(run.inbox, run.limits.quietMs);
  do {
    while (!isOver(run)) {
      await handleNext(run);
      await continueIfLong(run);
    }
  } while (!(await handOver({ urls: run.notifier.urls, account: run.input.account, mayEnd: () => isOver(run) })));
  return run.report;
}

function open(rawInput: CompanyReportInput, { limits, carried }: CompanyReportProgress = {}): Reporting {
  const input = refuseBadInput(() => parseCompanyReportInput(rawInput));
  refuseBadInput(() => checkWorkflowId(input));
  if (!carried) upsertSearchAttributes([{ key: rideAccountKey, value: input.account }]);
  const run: Reporting = {
    input,
    limits: limits ?? defaultLimits,
    inbox: openInbox(carried?.inbox),
    notifier: createReportNotifier({
      receivers: input.notify ?? [],
      notices: carried?.notices,
      onUndelivered: () => showReport(run.report, run.notifier.undelivered()),
    }),
    report: carried?.report ?? openReport(input),
    notBefore: carried?.notBefore ?? null,
  };
  return run;
}

/** Deliveries find the run by its id. Without an order that is the id of the delivery. */
function checkWorkflowId({ account, orderId }: CompanyReportInput): void {
  const { workflowId } = workflowInfo();
  const about = orderId ?? fromCompanyReportId(workflowId)?.about;
  const expected = about === undefined ? `report/${account}/<delivery id>` : companyReportId({ account, about });
  if (workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
}

const isOver = ({ inbox }: Reporting): boolean => inbox.isQuiet && !isReadWanted(inbox);

/** Also those that no handler was given: each signal is an event. */
const hasTooManySignals = ({ inbox, limits: { maxEvents, maxSignals } }: Reporting): boolean =>
  inbox.signals >= maxSignals || workflowInfo().historyLength >= maxEvents + maxSignals;

async function handleNext(run: Reporting): Promise<void> {
  const { inbox, input, report } = run;
  const mustLeave = () => hasTooManySignals(run) || isOver(run);
  const isInterrupted = () => isReadWanted(inbox) || mustLeave();
  const look = { account: input.account, shown: report.unavailable?.code ?? null, notBefore: run.notBefore };
  if (isReadWanted(inbox)) {
    const serves = inbox.asked;
    if (input.orderId !== undefined) {
      const seen = await readNow({ ...look, orderId: input.orderId }, mustLeave);
      if (seen === undefined) return;
      record(run, seen);
    }
    inbox.served = serves;
  } else if (input.orderId !== undefined && look.shown !== null) {
    const seen = await lookOn({ ...look, orderId: input.orderId }, isInterrupted);
    if (seen === undefined) return;
    record(run, seen);
  } else {
    return await condition(isInterrupted);
  }
  await run.notifier.tell(run.report);
  showReport(run.report, run.notifier.undelivered());
}

function record(run: Reporting, seen: ReceiptObservation): void {
  run.report = recordReceipt(run.report, seen);
  run.notBefore = seen.kind === 'trouble' ? seen.notBefore : null;
  showReport(run.report, run.notifier.undelivered());
}

function isLong({ inbox, limits }: Reporting): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return !isReadWanted(inbox) && (continueAsNewSuggested || historyLength >= limits.maxEvents);
}

const mustContinue = (run: Reporting): boolean => !isOver(run) && (isLong(run) || hasTooManySignals(run));

async function continueIfLong(run: Reporting): Promise<void> {
  if (!mustContinue(run)) return;
  await run.notifier.urls.hush();
  if (!mustContinue(run)) return run.notifier.urls.resume(); // something was reported meanwhile
  const { input, limits, report, notBefore, inbox, notifier } = run;
  const notices = carryNotices(notifier.urls);
  await continueAsNew<typeof companyReport>(input, {
    limits,
    carried: { report, notBefore, inbox: carryInbox(inbox), ...notices },
  });
}

/** Shows the report in the Temporal UI. The attribute is written only on change: each write is an event. */
function showReport(report: CompanyReport, undelivered: readonly string[]): void {
  setCurrentDetails(describeReport(report, undelivered));
  const attention = report.attention?.code;
  if (workflowInfo().typedSearchAttributes.get(rideAttentionKey) === attention) return;
  upsertSearchAttributes([{ key: rideAttentionKey, value: attention ?? null }]);
}

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
const readNow = (look: ReceiptLookInput, mustLeave: () => boolean): Promise<ReceiptObservation | undefined> =>
  unless(mustLeave, () => receipts(look.account, 'Read the receipt after a report').readReceipt(look));

/** Looks on while there is none; undefined when `interrupted` became true first. */
const lookOn = (look: ReceiptLookInput, interrupted: () => boolean): Promise<ReceiptObservation | undefined> =>
  unless(interrupted, () => receipts(look.account, `Look for the receipt: ${look.shown}`).awaitReceipt(look));
