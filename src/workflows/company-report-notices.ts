import { getExternalWorkflowHandle, isCancellation, log } from '@temporalio/workflow';
import { type CompanyReport, toReportNotice } from '../domain/company-report.js';
import type { Notify } from '../domain/notify.js';

/** Tells all receivers what is known of the report. One that has ended is named in `undelivered` and stops nobody. */
export async function tellReport(
  receivers: readonly Notify[],
  report: CompanyReport,
  undelivered: string[],
): Promise<void> {
  const notice = toReportNotice(report);
  await Promise.all(
    receivers.map(async ({ workflowId, signal }) => {
      try {
        await getExternalWorkflowHandle(workflowId).signal(signal, notice);
      } catch (error) {
        if (isCancellation(error)) throw error;
        const line = `${workflowId} by signal ${signal}: no such running workflow`;
        if (!undelivered.includes(line)) undelivered.push(line);
        log.warn('notify failed', { workflowId, signal });
      }
    }),
  );
}
