import { AttentionSchema, type TroubleCode } from './attention.js';
import { BusinessAccountSchema } from './call.js';
import { countDeliveries, DeliveryCountsSchema, type DeliveryNotice } from './delivery.js';
import { parserOf } from './input-fields.js';
import { type AccountName, type OrderId, OrderIdSchema } from './keys.js';
import { cell, messageCell, second, tableOf } from './markdown.js';
import { NotifyListSchema } from './notify/receivers.js';
import * as s from './schema.js';

/** The input of `companyReport`. */
export const CompanyReportInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  orderId: s.optional(OrderIdSchema, 'Absent where the reports name no order: then there is no receipt.'),
  notify: s.optional(NotifyListSchema),
});
/** The parsed input of `companyReport`. */
export type CompanyReportInput = s.Read<typeof CompanyReportInputSchema>;

/** Reads the input of `companyReport`. Throws `InvalidInput` that names the field. */
export const parseCompanyReportInput = parserOf(CompanyReportInputSchema);

/**
 * Why there is no receipt, or none that is up to date. `notReady`: the service answers 404, as if it had none yet. `notOffered`: the account's
 * interface or the contract profile has no receipts.
 */
export type ReceiptTroubleCode = TroubleCode | 'notReady' | 'notOffered';

// The run shows it until a look finds the receipt.
const ReceiptTroubleSchema = s.answerOf({ ...AttentionSchema.fields, code: s.answered<ReceiptTroubleCode>() });
type ReceiptTrouble = s.Read<typeof ReceiptTroubleSchema>;

/** The input of a look at a receipt. */
export interface ReceiptLookInput {
  account: AccountName;
  orderId: OrderId;
  /** What the run shows now: finding it again is no news. */
  shown: ReceiptTroubleCode | null;
  /** No request before this ISO instant. */
  notBefore: string | null;
}

/** The sums of a receipt, as decimal text, and their currency. Null: the receipt does not name it. */
export interface ReceiptAmounts {
  currency: string | null;
  /** With tax. */
  total: string | null;
  /** Without tax. */
  net: string | null;
  tax: string | null;
}

/** What a look at a receipt found. `reads` counts its attempts. `amounts` only where the worker has a store. */
export type ReceiptObservation =
  | { kind: 'receipt'; receipt: Record<string, unknown>; at: string; reads: number; amounts?: ReceiptAmounts }
  | { kind: 'trouble'; trouble: ReceiptTrouble; notBefore: string; reads: number };

/** The payload of a `notify` signal of a report. */
export const CompanyReportNoticeSchema = s.answerOf({
  account: s.answered<AccountName>(),
  orderId: s.nullable(s.answered<OrderId>()),
  // A duplicate is counted in `deliveries` and not listed again.
  reports: s.described(
    s.listOf(s.answerOf({ deliveryId: s.answered(), receivedAt: s.answered() })),
    'Newest last, the last 20, each once.',
  ),
  receipt: s.nullable(s.anyObject(), 'As the last read found it; it may change.'),
  receiptAt: s.nullable(s.answered(), 'When it was read.'),
  // An older receipt may still stand in `receipt`.
  unavailable: s.nullable(ReceiptTroubleSchema, 'Why the last look found no receipt.'),
});
/** What is told of a report. */
export type CompanyReportNotice = s.Read<typeof CompanyReportNoticeSchema>;

/** Body of the request that a `notify` URL of a report gets. */
export const CompanyReportEventSchema = s.answerOf({
  type: s.wordOf(['report.changed']),
  timestamp: s.described(s.answered(), 'When the run learnt of it.'),
  data: CompanyReportNoticeSchema,
});
/** A notice of a report to a URL. */
export type CompanyReportEvent = s.Read<typeof CompanyReportEventSchema>;

/** A report and its receipt: the result of `companyReport`, and the answer to its query. */
export const CompanyReportSchema = s.answerOf({
  ...CompanyReportNoticeSchema.fields,
  deliveries: DeliveryCountsSchema,
  reads: s.wholeNumber(),
  // Not for a scope that was never granted, nor for a receipt that is not ready.
  attention: s.nullable(AttentionSchema, 'The same as unavailable, where it needs a person.'),
});
/** A report and its receipt. */
export type CompanyReport = s.Read<typeof CompanyReportSchema>;

const maxReports = 20;

/** A report before its first delivery. */
export const openReport = ({ account, orderId }: CompanyReportInput): CompanyReport => ({
  account,
  orderId: orderId ?? null,
  deliveries: { received: 0, duplicate: 0 },
  reports: [],
  receipt: null,
  receiptAt: null,
  reads: 0,
  unavailable: null,
  attention: null,
});

/** The report after deliveries. `seen` are the ids counted so far, newest last. */
export function recordDeliveries(
  report: CompanyReport,
  seen: readonly string[],
  deliveries: readonly DeliveryNotice[],
): { report: CompanyReport; seen: string[] } {
  const { fresh, counts, seenDeliveries } = countDeliveries(report.deliveries, seen, deliveries);
  const reports = [...report.reports, ...fresh.map(({ deliveryId, receivedAt }) => ({ deliveryId, receivedAt }))];
  return { seen: seenDeliveries, report: { ...report, deliveries: counts, reports: reports.slice(-maxReports) } };
}

/** The report after a look. A receipt clears the trouble; trouble leaves the receipt that was read before. */
export function recordReceipt(report: CompanyReport, seen: ReceiptObservation): CompanyReport {
  const reads = report.reads + seen.reads;
  if (seen.kind === 'receipt') {
    const { receipt, at } = seen;
    return { ...report, reads, receipt, receiptAt: at, unavailable: null, attention: null };
  }
  const { code, message } = seen.trouble;
  // Trouble that several looks find has begun with the first of them.
  const since = report.unavailable?.code === code ? report.unavailable.since : seen.trouble.since;
  const attention = needsPerson(code) ? { code, message, since } : null;
  return { ...report, reads, unavailable: { code, message, since }, attention };
}

const minuteMs = 60_000;

/** Which troubles need a person, and the pace of looks without new reports. Some companies never grant the scope of receipts. */
const troubles: Record<ReceiptTroubleCode, { needsPerson: boolean; paceMs: number }> = {
  credentialsRejected: { needsPerson: true, paceMs: minuteMs },
  grantRejected: { needsPerson: true, paceMs: minuteMs },
  unreadableStatus: { needsPerson: true, paceMs: minuteMs },
  orderNotFound: { needsPerson: true, paceMs: minuteMs },
  upstreamUnavailable: { needsPerson: true, paceMs: minuteMs },
  outcomeUnknown: { needsPerson: true, paceMs: minuteMs },
  subscriptionSilent: { needsPerson: true, paceMs: minuteMs },
  deliveriesUnverified: { needsPerson: true, paceMs: minuteMs },
  notReady: { needsPerson: false, paceMs: 10 * minuteMs },
  scopeRejected: { needsPerson: false, paceMs: 60 * minuteMs },
  forbidden: { needsPerson: false, paceMs: 60 * minuteMs },
  notOffered: { needsPerson: false, paceMs: 60 * minuteMs },
};

const needsPerson = (code: ReceiptTroubleCode): code is TroubleCode => troubles[code].needsPerson;

/** So many looks find no receipt at the same pace; each wait after them is twice as long, since the receipt may never come. */
const steadyLooks = 6;
const longestPaceMs = 12 * 60 * minuteMs;

/** The pace of looks for a receipt while the run shows `code`. `looks`: how many have found that before. */
export const receiptPaceMs = (code: ReceiptTroubleCode, looks = 0): number =>
  Math.min(longestPaceMs, troubles[code].paceMs * 2 ** Math.max(0, code === 'notReady' ? looks - steadyLooks : 0));

/** The part of a report that notices carry. */
export const toReportNotice = (report: CompanyReport): CompanyReportNotice => {
  const { account, orderId, reports, receipt, receiptAt, unavailable } = report;
  return { account, orderId, reports, receipt, receiptAt, unavailable };
};

/** The same report as the body of a request. */
export const toReportEvent = (data: CompanyReportNotice): Omit<CompanyReportEvent, 'timestamp'> => ({
  type: 'report.changed',
  data,
});

const maxFields = 30;

/** `payment_summary total_inc_tax`: the fields of a receipt, nested ones too. */
function fieldsOf(value: Record<string, unknown>, prefix = ''): [name: string, text: string][] {
  return Object.entries(value).flatMap(([key, field]): [string, string][] =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? fieldsOf(field as Record<string, unknown>, `${prefix}${key} `)
      : [[`${prefix}${key}`, Array.isArray(field) ? `${field.length} entries` : String(field)]],
  );
}

/** The report as Markdown for the Temporal UI: the receipt, why there is none, and the last reports. */
export function describeReport(report: CompanyReport, undelivered: readonly string[] = []): string {
  const { orderId, receipt, receiptAt, unavailable, attention, deliveries, reports, reads } = report;
  const about = orderId === null ? 'A report that names no order' : `Receipt of order ${cell(orderId, 128)}`;
  const head = receiptAt === null ? about : `${about}, read at ${second(receiptAt)} UTC`;
  const why = unavailable && `${attention ? 'Attention' : 'No receipt'}: ${unavailable.code}`;
  const fields = fieldsOf(receipt ?? {}).slice(0, maxFields);
  const rows = fields.map((row) => row.map((text) => cell(text)));
  return [
    `**${head}**`,
    ...(why ? [`**${why}** since ${second(unavailable.since)} UTC: ${messageCell(unavailable.message)}`] : []),
    ...undelivered.map((line) => `Not notified: ${messageCell(line)}`),
    ...(rows.length > 0 ? [tableOf(['receipt', ''], rows)] : []),
    tableOf(
      ['reported at', 'delivery'],
      reports.map(({ receivedAt, deliveryId }) => [`${second(receivedAt)} UTC`, cell(deliveryId)]),
    ),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${reads}.`,
  ].join('\n\n');
}
