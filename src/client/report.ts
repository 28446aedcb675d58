import type { Client } from '@temporalio/client';
import { type CompanyReportInputSchema, CompanyReportSchema } from '../domain/report.js';
import type { Sent } from '../domain/schema.js';
import { type CompanyReportKey, companyReportId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { reportStatusQuery } from '../workflows/messages.js';
import type { companyReport } from '../workflows/report/company-report.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

/** What following the reports about one order is started with. */
export type ReportInput = Sent<typeof CompanyReportInputSchema> & { orderId: string | number };

/** What is known of the reports about one order, and of its receipt. */
export type CompanyReport = Sent<typeof CompanyReportSchema>;

/** The reports about one order. */
export interface ReportHandle {
  readonly account: string;
  readonly orderId: string;
  readonly workflowId: string;
  /** As it stands, of an ended run too. Needs a live worker. */
  report(options?: AskOptions): Promise<CompanyReport>;
  /** Waits until nothing was reported for seven days. */
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
