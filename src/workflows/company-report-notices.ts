import { type CompanyReport, toReportNotice } from '../domain/company-report.js';
import type { Notify } from '../domain/notify.js';
import { tellReceiver } from './receivers.js';

/** Tells all receivers what is known of the report; those that have ended are named in `undelivered`. */
export async function tellReport(
  receivers: readonly Notify[],
  report: CompanyReport,
  undelivered: string[],
): Promise<void> {
  const notice = toReportNotice(report);
  await Promise.all(receivers.map((receiver) => tellReceiver(receiver, notice, undelivered)));
}
