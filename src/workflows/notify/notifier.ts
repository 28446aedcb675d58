import { getExternalWorkflowHandle, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import { type NoticeLog, toReaders } from '../../domain/notify/notice-log.js';
import {
  isStore,
  isUrlReceiver,
  type Notify,
  type SignalReceiver,
  storeEntry,
  urlEntries,
} from '../../domain/notify/receivers.js';
import { createUrlNotices, type UrlEvent } from './url-notices.js';

/** Sends notices of changes in order. `Subject`: what changes. */
export type Notifier<Subject> = ReturnType<typeof createNotifier<Subject, object>>;

/** How the notices of a subject look. */
interface Telling<Subject, Notice extends object> {
  /** The payload of a signal. */
  toNotice(subject: Subject): Notice;
  /** The same for a URL that got `last` before. */
  toEvent(notice: Notice, last: Notice | null): UrlEvent;
  isNews(notice: Notice, last: Notice | null): boolean;
  /** The most notices that are kept for a URL that does not answer. All of them must fit into one payload. */
  maxWaiting: number;
  /** The workflows among the receivers expect notices of another subject, and get none of this one. */
  toUrlsOnly?: true;
}

/** The receivers of a run. */
export interface RunReceivers<Notice> {
  /** May grow at its end; then the run calls `welcome`. */
  receivers: readonly Notify[];
  /** The last notice of the previous run. */
  told: Notice | null;
  notices: NoticeLog | undefined;
  /** `undelivered` may have changed. */
  onUndelivered(): void;
}

/** A receiver that has ended or does not answer never ends the run; the run's details name it. */
export function createNotifier<Subject, Notice extends object>(
  { receivers, told, notices, onUndelivered }: RunReceivers<Notice>,
  { toNotice, toEvent, isNews, maxWaiting, toUrlsOnly }: Telling<Subject, Notice>,
) {
  const undelivered: string[] = [];
  const urls = createUrlNotices({
    urls: notices ? toReaders(notices, urlEntries(receivers)) : urlEntries(receivers),
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
    /** One line, for the UI, for each receiver that missed a notice. */
    undelivered: (): string[] => [...undelivered, ...urls.missed()],
    tell(subject: Subject): void {
      const notice = toNotice(subject);
      if (!isNews(notice, last)) return;
      const event = toEvent(notice, last);
      last = notice;
      if (!toUrlsOnly) signal(workflowsOf(receivers), notice);
      urls.tell(event);
    },
    /** Sends the present state, if any was sent before, to receivers that were just added to the list. */
    welcome(newcomers: readonly Notify[], subject: Subject): void {
      const notice = last && toNotice(subject);
      if (notice) signal(workflowsOf(newcomers), notice);
      const event = notice && toEvent(notice, null);
      for (const newcomer of newcomers) {
        if (isUrlReceiver(newcomer)) urls.welcome({ url: newcomer.url, entry: receivers.indexOf(newcomer) }, event);
      }
    },
    /** Records changes in the store from now on, and the present state if others were told of it. False: it does so already. */
    addStore(subject: Subject): boolean {
      if (urls.left().urls.some(isStore)) return false;
      urls.welcome(storeEntry, last && toEvent(toNotice(subject), null));
      return true;
    },
    /** Have all workflows accepted or refused their signals? */
    isQuiet: (): boolean => queued === 0,
  };
}

const workflowsOf = (receivers: readonly Notify[]): SignalReceiver[] =>
  receivers.filter((receiver): receiver is SignalReceiver => !isUrlReceiver(receiver));
