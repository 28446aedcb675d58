import { condition, isCancellation, setHandler, sleep } from '@temporalio/workflow';
import { readDeliveries } from '../../domain/delivery.js';
import { type CompanyReport, recordDeliveries } from '../../domain/report.js';
import { companyReportQuery, deliveryReceivedSignal } from '../messages.js';

/** What reports ask of the run. The handler writes here and returns; the main body decides. */
export interface ReportInbox {
  /** Batches of reports so far; a read serves all that came before it. */
  asked: number;
  served: number;
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  /** Signals taken by this run: the server counts to 10,000 and never hints at it. */
  signals: number;
  /** Epoch milliseconds of the last report, or of the start. */
  lastAt: number;
  /** Nothing was reported for so long that the run ends. */
  isQuiet: boolean;
}

/** What outlives a run that continues as new. */
export type CarriedInbox = Pick<ReportInbox, 'seenDeliveries' | 'lastAt'> & { readWanted: boolean };

/** The inbox of a new run, with what the run before it had not answered. */
export const openInbox = (carried?: CarriedInbox): ReportInbox => ({
  asked: carried?.readWanted ? 1 : 0,
  served: 0,
  seenDeliveries: carried?.seenDeliveries ?? [],
  signals: 0,
  lastAt: carried?.lastAt ?? Date.now(),
  isQuiet: false,
});

export const isReadWanted = ({ asked, served }: ReportInbox): boolean => asked > served;

export const carryInbox = (inbox: ReportInbox): CarriedInbox => ({
  seenDeliveries: inbox.seenDeliveries,
  lastAt: inbox.lastAt,
  readWanted: isReadWanted(inbox),
});

/** Registers all handlers. Must run before the first await of the run. */
export function listen(run: { report: CompanyReport }, inbox: ReportInbox): void {
  setHandler(companyReportQuery, () => run.report);
  setHandler(deliveryReceivedSignal, (notice) => {
    const deliveries = readDeliveries(notice, new Date().toISOString());
    const { report, seen } = recordDeliveries(run.report, inbox.seenDeliveries, deliveries);
    run.report = report;
    inbox.seenDeliveries = seen;
    inbox.signals += 1;
    // A duplicate asks for a read too: two equal bodies may tell of two changes.
    inbox.asked += 1;
    inbox.lastAt = Date.now();
  });
}

/** One timer for the whole run; when something was reported meanwhile, another one for the rest. */
export function watchQuiet(inbox: ReportInbox, quietMs: number): void {
  const leftMs = () => inbox.lastAt + quietMs - Date.now();
  const watch = async (): Promise<void> => {
    for (;;) {
      await sleep(Math.max(leftMs(), 1), { summary: 'End if nothing more is reported' });
      if (leftMs() > 0) continue;
      inbox.isQuiet = true;
      await condition(() => leftMs() > 0);
      inbox.isQuiet = false;
    }
  };
  watch().catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
}
