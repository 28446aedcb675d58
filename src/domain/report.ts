import type { Attention, AttentionCode } from './attention.js';
import type { DeliveryNotice } from './delivery.js';
import { toInputFields } from './input-fields.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from './keys.js';
import { cell } from './markdown.js';
import { type Notify, toNotify } from './notify/receivers.js';

/** What `companyReport` is started with. */
export interface CompanyReportInput {
  account: AccountName;
  /** Absent when the report names no order: then there is no receipt to read. */
  orderId?: OrderId;
  /** Who is told of each report and of what its receipt says: workflows, by signal. */
  notify?: Notify[];
}

const known: readonly string[] = ['account', 'orderId', 'notify'];

/**
 * Reads the input of `companyReport`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused.
 */
export function parseCompanyReportInput(value: unknown): CompanyReportInput {
  const { account, orderId, notify } = toInputFields(value, known);
  const isAbout = orderId !== undefined && orderId !== null;
  const hasReceivers = notify !== undefined && notify !== null;
  return {
    account: toAccountName(account),
    ...(isAbout ? { orderId: toOrderId(orderId) } : {}),
    ...(hasReceivers ? { notify: toNotify(notify) } : {}),
  };
}

/**
 * Why there is no receipt, or none that is up to date. `notReady`: the service has none yet. `notOffered`: the account's
 * interface or the contract profile has no receipts.
 */
export type ReceiptTroubleCode = AttentionCode | 'notReady' | 'notOffered';

/** Stands until a look finds the receipt; the run looks again by itself. `since` is an ISO instant. */
interface ReceiptTrouble {
  code: ReceiptTroubleCode;
  message: string;
  since: string;
}

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

/** What is known of one report and its receipt: the result of `companyReport`, and the answer of the query `reportStatus`. */
export interface CompanyReport {
  account: AccountName;
  orderId: OrderId | null;
  deliveries: { received: number; duplicate: number };
  /** Newest last, the last 20; a duplicate is counted above and not listed again. */
  reports: { deliveryId: string; receivedAt: string }[];
  /** As the last read found it; it may change again. */
  receipt: Record<string, unknown> | null;
  /** When that was; an ISO instant. */
  receiptAt: string | null;
  reads: number;
  /** Why the last look found no receipt. An older one may still stand in `receipt`. */
  unavailable: ReceiptTrouble | null;
  /** The same where it needs a person: not for a scope that was never granted, nor for a receipt that is not ready. */
  attention: Attention | null;
}

/** What a `notify` signal carries. */
type CompanyReportNotice = Pick<
  CompanyReport,
  'account' | 'orderId' | 'reports' | 'receipt' | 'receiptAt' | 'unavailable'
>;

const maxReports = 20;
const maxSeen = 1_000;

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

/** The report after deliveries. `seen` are the ids counted so far, newest last; an id that is empty is never a duplicate. */
export function recordDeliveries(
  report: CompanyReport,
  seen: readonly string[],
  deliveries: readonly DeliveryNotice[],
): { report: CompanyReport; seen: string[] } {
  const known = new Set(seen);
  const fresh: CompanyReport['reports'] = [];
  for (const { deliveryId, receivedAt } of deliveries) {
    if (deliveryId !== '' && known.has(deliveryId)) continue;
    known.add(deliveryId);
    fresh.push({ deliveryId, receivedAt });
  }
  const { received, duplicate } = report.deliveries;
  return {
    seen: [...known].slice(-maxSeen),
    report: {
      ...report,
      deliveries: {
        received: received + deliveries.length,
        duplicate: duplicate + deliveries.length - fresh.length,
      },
      reports: [...report.reports, ...fresh].slice(-maxReports),
    },
  };
}

/** A code that only a person can repair, or an outage that lasts. The others are how some companies are set up. */
const needsPerson = (code: ReceiptTroubleCode): code is AttentionCode =>
  !['scopeRejected', 'forbidden', 'notReady', 'notOffered'].includes(code);

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

/** How often a receipt is looked for while nothing new is reported and `code` stands. */
export function receiptPaceMs(code: ReceiptTroubleCode): number {
  if (needsPerson(code)) return minuteMs;
  return code === 'notReady' ? 10 * minuteMs : 60 * minuteMs;
}

/** The part of a report that others are told of. */
export const toReportNotice = (report: CompanyReport): CompanyReportNotice => {
  const { account, orderId, reports, receipt, receiptAt, unavailable } = report;
  return { account, orderId, reports, receipt, receiptAt, unavailable };
};

/** What a URL is told. */
export type CompanyReportEvent = CompanyReportNotice & { type: 'report.changed' };

/** The same report as the body of a request. */
export const toReportEvent = (notice: CompanyReportNotice): CompanyReportEvent => ({
  type: 'report.changed',
  ...notice,
});

const maxMessage = 300;
const maxFields = 30;

const second = (instant: string): string => `${cell(instant.slice(0, 19).replace('T', ' '))} UTC`;

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
  const head = receiptAt === null ? about : `${about}, read at ${second(receiptAt)}`;
  const why = unavailable && `${attention ? 'Attention' : 'No receipt'}: ${unavailable.code}`;
  const fields = receipt === null ? [] : fieldsOf(receipt).slice(0, maxFields);
  return [
    `**${head}**`,
    ...(why ? [`**${why}** since ${second(unavailable.since)}: ${cell(unavailable.message, maxMessage)}`] : []),
    ...undelivered.map((line) => `Not notified: ${cell(line, maxMessage)}`),
    ...(fields.length > 0 ? [tableOf(['receipt', ''], fields)] : []),
    tableOf(
      ['reported at', 'delivery'],
      reports.map(({ receivedAt, deliveryId }) => [second(receivedAt), deliveryId]),
    ),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${reads}.`,
  ].join('\n\n');
}

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    head,
    head.map(() => '---'),
    // The UI puts columns side by side without any space between them.
    ...rows.map((row) => row.map((text) => `${cell(text)}\u00a0\u00a0`)),
  ]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
