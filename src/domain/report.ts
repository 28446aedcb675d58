import { type AttentionCode, AttentionSchema } from './attention.js';
import { BusinessAccountSchema } from './call.js';
import { countDeliveries, DeliveryCountsSchema, type DeliveryNotice } from './delivery.js';
import { parserOf } from './input-fields.js';
import { type AccountName, type OrderId, OrderIdSchema } from './keys.js';
import { cell, messageCell, second, tableOf } from './markdown.js';
import { NotifyListSchema } from './notify/receivers.js';
import * as s from './schema.js';

/** What `companyReport` is started with. */
export const CompanyReportInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  orderId: s.optional(OrderIdSchema, 'Absent where the reports name no order: then there is no receipt.'),
  notify: s.optional(NotifyListSchema),
});
/** What `companyReport` is started with, as it is read. */
export type CompanyReportInput = s.Read<typeof CompanyReportInputSchema>;

/** Reads the input of `companyReport`, which any language may send. Throws `InvalidInput` that names the field. */
export const parseCompanyReportInput = parserOf(CompanyReportInputSchema);

/**
 * Why there is no receipt, or none that is up to date. `notReady`: the service has none yet. `notOffered`: the account's
 * interface or the contract profile has no receipts.
 */
export type ReceiptTroubleCode = AttentionCode | 'notReady' | 'notOffered';

/** Stands until a look finds the receipt; the run looks again by itself. `since` is an ISO instant. */
const ReceiptTroubleSchema = s.answerOf({ ...AttentionSchema.fields, code: s.answered<ReceiptTroubleCode>() });
type ReceiptTrouble = s.Read<typeof ReceiptTroubleSchema>;

/** What a look at a receipt needs to know of the run that looks. */
export interface ReceiptLookInput {
  account: AccountName;
  orderId: OrderId;
  /** What the run shows now: finding it again is no news. */
  shown: ReceiptTroubleCode | null;
  /** ISO instant; no request to the service before. */
  notBefore: string | null;
}

/** What a look at a receipt found. `reads` counts the attempts behind it. */
export type ReceiptObservation =
  | { kind: 'receipt'; receipt: Record<string, unknown>; at: string; reads: number }
  | { kind: 'trouble'; trouble: ReceiptTrouble; notBefore: string; reads: number };

/** What a `notify` signal of a report carries. */
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
type CompanyReportNotice = s.Read<typeof CompanyReportNoticeSchema>;

/** Body of the request that a `notify` URL of a report gets. */
export const CompanyReportEventSchema = s.answerOf({
  type: s.wordOf(['report.changed']),
  ...CompanyReportNoticeSchema.fields,
});
/** What a URL is told. */
export type CompanyReportEvent = s.Read<typeof CompanyReportEventSchema>;

/** What is known of a report and its receipt: the result of `companyReport`, and the answer to its query. */
export const CompanyReportSchema = s.answerOf({
  ...CompanyReportNoticeSchema.fields,
  deliveries: DeliveryCountsSchema,
  reads: s.wholeNumber(),
  // Not for a scope that was never granted, nor for a receipt that is not ready.
  attention: s.nullable(AttentionSchema, 'The same as unavailable, where it needs a person.'),
});
/** What is known of a report and its receipt. */
export type CompanyReport = s.Read<typeof CompanyReportSchema>;

const maxReports = 20;

/** A report that nothing is known of yet. */
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
  // Trouble that is found again goes on, it does not begin.
  const since = report.unavailable?.code === code ? report.unavailable.since : seen.trouble.since;
  const attention = needsPerson(code) ? { code, message, since } : null;
  return { ...report, reads, unavailable: { code, message, since }, attention };
}

const minuteMs = 60_000;

/**
 * Which troubles need a person, and how often a receipt is looked for while nothing new is reported. A scope that was never granted
 * is how some companies are set up.
 */
const troubles: Record<ReceiptTroubleCode, { needsPerson: boolean; paceMs: number }> = {
  credentialsRejected: { needsPerson: true, paceMs: minuteMs },
  grantRejected: { needsPerson: true, paceMs: minuteMs },
  unreadableStatus: { needsPerson: true, paceMs: minuteMs },
  orderNotFound: { needsPerson: true, paceMs: minuteMs },
  upstreamUnavailable: { needsPerson: true, paceMs: minuteMs },
  outcomeUnknown: { needsPerson: true, paceMs: minuteMs },
  subscriptionSilent: { needsPerson: true, paceMs: minuteMs },
  notReady: { needsPerson: false, paceMs: 10 * minuteMs },
  scopeRejected: { needsPerson: false, paceMs: 60 * minuteMs },
  forbidden: { needsPerson: false, paceMs: 60 * minuteMs },
  notOffered: { needsPerson: false, paceMs: 60 * minuteMs },
};

const needsPerson = (code: ReceiptTroubleCode): code is AttentionCode => troubles[code].needsPerson;

/** How often a receipt is looked for while `code` stands. */
export const receiptPaceMs = (code: ReceiptTroubleCode): number => troubles[code].paceMs;

/** The part of a report that others are told of. */
export const toReportNotice = (report: CompanyReport): CompanyReportNotice => {
  const { account, orderId, reports, receipt, receiptAt, unavailable } = report;
  return { account, orderId, reports, receipt, receiptAt, unavailable };
};

/** The same report as the body of a request. */
export const toReportEvent = (notice: CompanyReportNotice): CompanyReportEvent => ({
  type: 'report.changed',
  ...notice,
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
  const fields = receipt === null ? [] : fieldsOf(receipt).slice(0, maxFields);
  return [
    `**${head}**`,
    ...(why ? [`**${why}** since ${second(unavailable.since)} UTC: ${messageCell(unavailable.message)}`] : []),
    ...undelivered.map((line) => `Not notified: ${messageCell(line)}`),
    ...(fields.length > 0
      ? [
          tableOf(
            ['receipt', ''],
            fields.map((row) => row.map((text) => cell(text))),
          ),
        ]
      : []),
    tableOf(
      ['reported at', 'delivery'],
      reports.map(({ receivedAt, deliveryId }) => [`${second(receivedAt)} UTC`, cell(deliveryId)]),
    ),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${reads}.`,
  ].join('\n\n');
}
