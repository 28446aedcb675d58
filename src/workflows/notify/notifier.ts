import { getExternalWorkflowHandle, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import type { NoticeLog } from '../../domain/notify/notice-log.js';
import { isUrlReceiver, type Notify, type SignalReceiver, urlEntries } from '../../domain/notify/receivers.js';
import { type OrderChange, type OrderTrail, toOrderChange, toOrderEvent } from '../../domain/order/trail.js';
import { createUrlNotices, type UrlNotices } from './url-notices.js';

/** Tells one receiver. One that has ended is named in `undelivered` and stops nobody. Throws only when it is cancelled. */
export async function tellReceiver(
  { workflowId, signal }: SignalReceiver,
  notice: unknown,
  undelivered: string[],
): Promise<void> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(signal, notice);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const line = `${workflowId} by signal ${signal}: no such running workflow`;
    if (!undelivered.includes(line)) undelivered.push(line);
    log.warn('notify failed', { workflowId, signal });
  }
}

/** Tells others of changes, one after the other, so that each sees them in their order. */
export interface Notifier {
  tell(trail: OrderTrail): void;
  /** Tells receivers that were added to the list just now where the order stands, if that is known. */
  welcome(newcomers: readonly Notify[], trail: OrderTrail): void;
  /** Have all workflows taken or refused their signals? */
  isQuiet(): boolean;
  readonly urls: UrlNotices;
  /** One line for each receiver that could not be told, for the UI. */
  undelivered(): string[];
}

interface NotifierOptions {
  /** May grow: newcomers are put at its end and then made welcome. */
  receivers: readonly Notify[];
  /** By the run before this one. */
  told: OrderChange | null;
  notices: NoticeLog | undefined;
  /** There may be more in `undelivered`. */
  onUndelivered(): void;
}

/** What is kept for a URL that does not answer: more changes than an order has. */
const maxWaiting = 100;

/** A receiver that has ended, or does not answer, is named in the run's details; it never ends the following of an order. */
export function createNotifier({ receivers, told, notices, onUndelivered }: NotifierOptions): Notifier {
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

  async function send(receiver: SignalReceiver, change: OrderChange): Promise<void> {
    try {
      await tellReceiver(receiver, change, undelivered);
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  function signal(workflows: readonly SignalReceiver[], change: OrderChange): void {
    queued += 1;
    queue = queue.then(async () => {
      await Promise.all(workflows.map((receiver) => send(receiver, change)));
      queued -= 1;
    });
  }

  return {
    urls,
    undelivered: () => [...undelivered, ...urls.missed()],
    tell(trail) {
      const change = toOrderChange(trail);
      const isNews = change.outcome !== (last?.outcome ?? null) || change.rawStatus !== (last?.rawStatus ?? null);
      if (!isNews) return;
      last = change;
      signal(workflowsOf(receivers), change);
      urls.tell(toOrderEvent(change));
    },
    welcome(newcomers, trail) {
      const change = last && toOrderChange(trail);
      if (change) signal(workflowsOf(newcomers), change);
      const event = change && toOrderEvent(change);
      for (const newcomer of newcomers) {
        if (isUrlReceiver(newcomer)) urls.welcome({ url: newcomer.url, entry: receivers.indexOf(newcomer) }, event);
      }
    },
    isQuiet: () => queued === 0,
  };
}

const workflowsOf = (receivers: readonly Notify[]): SignalReceiver[] =>
  receivers.filter((receiver): receiver is SignalReceiver => !isUrlReceiver(receiver));
