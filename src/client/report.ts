import type { Client } from '@temporalio/client';
import { type CompanyReportInputSchema, CompanyReportSchema } from '../domain/report.js';
import type { Sent } from '../domain/schema.js';
import { type CompanyReportKey, companyReportId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { reportStatusQuery } from '../workflows/messages.js';
import type { companyReport } from '../workflows/report/company-report.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

/** The input of `followReports`. */
export type ReportInput = Sent<typeof CompanyReportInputSchema> & { orderId: string | number };

/** The reports about one order, and its receipt. */
export type CompanyReport = Sent<typeof CompanyReportSchema>;

/** The reports about one order. */
export interface ReportHandle {
  readonly account: string;
  readonly orderId: string;
  readonly workflowId: string;
  /** The reports now, also after the end. Needs a live worker. */
  report(options?: AskOptions): Promise<CompanyReport>;
  /** Waits until seven days have passed without a report. */
  result(): Promise<CompanyReport>;
}

/** A handle of the reports about an order, whether there were any or not. */
export function reportHandle(client: Client, key: CompanyReportKey): ReportHandle {
  const workflowId = companyReportId(key);
  const run = runOf<typeof companyReport>(client, workflowId);
  return {
    account: key.account,
    orderId: key.about,
    workflowId,
    report: (options) => toAnswer(CompanyReportSchema, run.query(reportStatusQuery, inTime(options))),
    result: () => toAnswer(CompanyReportSchema, run.result()),
  };
}
