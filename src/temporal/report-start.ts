import type { CompanyReportInput } from '../domain/company-report-input.js';
import { type CompanyReportKey, companyReportId } from '../domain/workflow-ids.js';

/** Options of a client that starts `companyReport`, or signals it with a start. Again after its end, since a price may change
 *  long after the last report. */
export const reportStart = (key: CompanyReportKey, input: CompanyReportInput, taskQueue: string) => ({
  workflowId: companyReportId(key),
  taskQueue,
  args: [input] as [CompanyReportInput],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `Company reports of account ${key.account} about ${key.about}`,
});
