import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { CompanyReport } from '../domain/company-report.js';
import { describeReport } from '../domain/company-report-details.js';
import { rideAttentionKey } from './search-attribute-keys.js';

/** Shows the report in the Temporal UI. The attribute is written only on change: each write is an event. */
export function showReport(report: CompanyReport, undelivered: readonly string[]): void {
  setCurrentDetails(describeReport(report, undelivered));
  const attention = report.attention?.code;
  if (workflowInfo().typedSearchAttributes.get(rideAttentionKey) === attention) return;
  upsertSearchAttributes([{ key: rideAttentionKey, value: attention ?? null }]);
}
