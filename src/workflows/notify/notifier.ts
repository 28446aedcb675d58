import { getExternalWorkflowHandle, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import type { NoticeLog } from '../../domain/notify/notice-log.js';
import { isUrlReceiver, type Notify, type SignalReceiver, urlEntries } from '../../domain/notify/receivers.js';
import { createUrlNotices, type UrlNotices } from './url-notices.js';

/** Tells others of changes, one after the other, so that each sees them in their order. `Subject`: what changes. */
export interface Notifier<Subject> {
  tell(subject: Subject): void;
  /** Tells receivers that were added to the list just now how things stand, if that is known. */
  welcome(newcomers: readonly Notify[], subject: Subject): void;
  /** Have all workflows taken or refused their signals? */
  isQuiet(): boolean;
  readonly urls: UrlNotices;
  /** One line for each receiver that could not be told, for the UI. */
  undelivered(): string[];
}

/** How a subject is told. */
interface Telling<Subject, Notice extends object> {
  /** What a signal carries. */
  toNotice(subject: Subject): Notice;
  /** What a URL is sent. */
  toEvent(notice: Notice): object;
  isNews(notice: Notice, last: Notice | null): boolean;
  /** What is kept for a URL that does not answer. All of it must fit into one payload. */
  maxWaiting: number;
}

/** Whom a run tells. */
export interface RunReceivers<Notice> {
  /** May grow: newcomers are put at its end and then made welcome. */
  receivers: readonly Notify[];
  /** By the run before this one. */
  told: Notice | null;
  notices: NoticeLog | undefined;
  /** There may be more in `undelivered`. */
  onUndelivered(): void;
}

/** A receiver that has ended, or does not answer, is named in the run's details; it never ends the run. */
export function createNotifier<Subject, Notice extends object>(
  { receivers, told, notices, onUndelivered }: RunReceivers<Notice>,
  { toNotice, toEvent, isNews, maxWaiting }: Telling<Subject, Notice>,
): Notifier<Subject> {
  const undelivered: string[] = [];
  const urls = createUrlNotices({
    urls: urlEntries(receivers),
    carried: notices,
    firstRunId: workflowInfo().firstExecutionRunId,
    maxWaiting,
    onChange: onUndelivered,
  });
  let last = told;
  let queue: Promise<void> = Promise.resolve();
  let queued = 0;

  async function send({ workflowId, signal }: SignalReceiver, notice: Notice): Promise<void> {
    try {
      await getExternalWorkflowHandle(workflowId).signal(signal, notice);
    } catch (error) {
      if (isCancellation(error)) return;
      const line = `${workflowId} by signal ${signal}: no such running workflow`;
      if (!undelivered.includes(line)) undelivered.push(line);
      log.warn('notify failed', { workflowId, signal });
    }
  }

  function signal(workflows: readonly SignalReceiver[], notice: Notice): void {
    queued += 1;
    queue = queue.then(async () => {
      await Promise.all(workflows.map((receiver) => send(receiver, notice)));
      queued -= 1;
    });
  }

  return {
    urls,
    undelivered: () => [...undelivered, ...urls.missed()],
    tell(subject) {
      const notice = toNotice(subject);
      if (!isNews(notice, last)) return;
      last = notice;
      signal(workflowsOf(receivers), notice);
      urls.tell(toEvent(notice));
    },
    welcome(newcomers, subject) {
      const notice = last && toNotice(subject);
      if (notice) signal(workflowsOf(newcomers), notice);
      const event = notice && toEvent(notice);
      for (const newcomer of newcomers) {
        if (isUrlReceiver(newcomer)) urls.welcome({ url: newcomer.url, entry: receivers.indexOf(newcomer) }, event);
      }
    },
    isQuiet: () => queued === 0,
  };
}

const workflowsOf = (receivers: readonly Notify[]): SignalReceiver[] =>
  receivers.filter((receiver): receiver is SignalReceiver => !isUrlReceiver(receiver));
