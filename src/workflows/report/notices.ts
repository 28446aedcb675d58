import { workflowInfo } from '@temporalio/workflow';
import type { NoticeLog } from '../../domain/notify/notice-log.js';
import { isUrlReceiver, type Notify, type SignalReceiver, urlEntries } from '../../domain/notify/receivers.js';
import { type CompanyReport, type CompanyReportEvent, toReportNotice } from '../../domain/report.js';
import { tellReceiver } from '../notify/notifier.js';
import { createUrlNotices, type UrlNotices } from '../notify/url-notices.js';

/** Tells others what is known of a report. */
export interface ReportNotifier {
  /** Resolves when all workflows have taken or refused their signals; URLs are told meanwhile and later. */
  tell(report: CompanyReport): Promise<void>;
  readonly urls: UrlNotices;
  /** One line for each receiver that could not be told, for the UI. */
  undelivered(): string[];
}

interface ReportNotifierOptions {
  receivers: readonly Notify[];
  notices: NoticeLog | undefined;
  /** There may be more in `undelivered`. */
  onUndelivered(): void;
}

/** What is kept for a URL that does not answer. Each may hold a receipt, and all of them must fit into one payload. */
const maxWaiting = 20;

/** Receivers that have ended, or do not answer, are named in the run's details. */
export function createReportNotifier({ receivers, notices, onUndelivered }: ReportNotifierOptions): ReportNotifier {
  const undelivered: string[] = [];
  const workflows = receivers.filter((receiver): receiver is SignalReceiver => !isUrlReceiver(receiver));
  const urls = createUrlNotices({
    urls: urlEntries(receivers),
    carried: notices,
    firstRunId: workflowInfo().firstExecutionRunId,
    maxWaiting,
    onChange: onUndelivered,
  });
  return {
    urls,
    undelivered: () => [...undelivered, ...urls.missed()],
    async tell(report) {
      const notice = toReportNotice(report);
      urls.tell({ type: 'report.changed', ...notice } satisfies CompanyReportEvent);
      await Promise.all(workflows.map((receiver) => tellReceiver(receiver, notice, undelivered)));
    },
  };
}
