import type { CompanyReport } from './company-report.js';
import { cell } from './trail-details.js';

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
