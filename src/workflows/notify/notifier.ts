import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  patched,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { shownText } from '../../domain/json.js';
import type { AccountName } from '../../domain/keys.js';
import { type Notice, noticesSince } from '../../domain/notify/notices.js';
import { isUrlReceiver, type Notify, type SignalReceiver, shownUrl, store } from '../../domain/notify/receivers.js';
import { noticesId } from '../../domain/workflow-ids.js';
import { noticeGivenSignal } from '../messages.js';
import { rideAccountKey } from '../search-attributes.js';
import type { notices } from './notices.js';
import { isRecordedSoon } from './sending.js';

/** Tells changes in order. `Subject`: what changes; `Told`: what workflows get of it. */
export type Notifier<Subject, Told extends object> = ReturnType<typeof createNotifier<Subject, Told>>;

/** What is told. Standard Webhooks adds the time of the event. */
interface NoticeEvent {
  type: string;
  data: object;
}

/** Who is told of a subject, and how. */
interface Telling<Subject, Told extends object> {
  account: AccountName;
  /** May grow at its end; then the run calls `add`. */
  receivers(): readonly Notify[];
  carried: CarriedNotifier<Told> | undefined;
  /** `undelivered` has changed. */
  onUndelivered?: () => void;
  /** The payload of a signal. */
  toNotice(subject: Subject): Told;
  /** The same for a URL that got `last` before. */
  toEvent(notice: Told, last: Told | null): NoticeEvent;
  isNews(notice: Told, last: Told | null): boolean;
  /** What the store must learn of `subject` although receivers that got `last` need not. `last` becomes its data. */
  storeNewsSince?: (last: Told, notice: Told) => { type: string; data: Told } | null;
  /** Is no notice told after this one? */
  isLast(notice: Told): boolean;
  /** The most notices that wait for a URL that does not answer. All of them must fit into one payload. */
  maxWaiting: number;
}

/** What the next run needs when this one continues as new. */
export interface CarriedNotifier<Told> {
  last: Told | null;
  /** How many notices URLs and the store were told. */
  told: number;
  hasStore: boolean;
  /** The receivers that have a run of `notices`. */
  begun: string[];
}

/**
 * Tells workflows by signals, and the store by an activity. For each URL among the receivers a run of `notices` takes the signal and sends
 * what it says. A receiver that has ended or does not answer never ends the run.
 */
export function createNotifier<Subject, Told extends object>(telling: Telling<Subject, Told>) {
  const { account, receivers, carried, maxWaiting, toNotice, toEvent, isNews, isLast } = telling;
  const { enqueue, ...sending } = openQueue(telling.onUndelivered);
  let { last, told, hasStore, begun }: CarriedNotifier<Told> = carried ?? nothingTold;

  /** The run of `notices` of a URL or the store, which the first notice starts. */
  function runOf(to: string): NoticesRun {
    const place = receivers().findIndex((one) => isUrlReceiver(one) && one.url === to);
    const receiver = to === store ? store : String(place);
    const isBegun = begun.includes(receiver);
    if (!isBegun) begun = [...begun, receiver];
    return { account, receiver, isBegun, maxWaiting };
  }

  function toRuns(to: readonly string[], event: NoticeEvent, isLast = false): (() => Promise<Missed>)[] {
    if (to.length === 0) return [];
    told += 1;
    const notice = { number: told, at: new Date().toISOString(), ...event, isLast };
    return to.map((url) => () => send({ ...notice, to: url }));
  }

  /** This run records changes in the store by itself. If the store does not answer, a run of `notices` takes this change and all later ones. */
  async function send(notice: Notice): Promise<Missed> {
    const isOwn = notice.to === store && !begun.includes(store);
    if (isOwn && (await isRecordedSoon(notice))) return null;
    return await give(runOf(notice.to), notice);
  }

  function tellThese(to: readonly Notify[], stores: boolean, notice: Told, before: Told | null): void {
    const urls = new Set([...(stores ? [store] : []), ...to.flatMap((one) => (isUrlReceiver(one) ? one.url : []))]);
    enqueue([
      ...to.flatMap((one) => (isUrlReceiver(one) ? [] : () => signal(one, notice))),
      ...toRuns([...urls], toEvent(notice, before), isLast(notice)),
    ]);
  }

  function tellNewsOfStore(notice: Told): void {
    const news = hasStore && last ? telling.storeNewsSince?.(last, notice) : null;
    // Runs of 0.2.0 sent nothing to the store here. `last` stays unchanged, so the next reading sends it.
    if (!news || !patched('the-store-learns-late-references')) return;
    enqueue(toRuns([store], news, isLast(news.data)));
    last = news.data;
  }

  return {
    ...sending,
    tell(subject: Subject): void {
      const notice = toNotice(subject);
      if (isNews(notice, last)) {
        tellThese(receivers(), hasStore, notice, last);
        last = notice;
      } else tellNewsOfStore(notice);
    },
    /** Tells the store alone, if it must learn what is no news for receivers. */
    tellNewsOfStore: (subject: Subject): void => tellNewsOfStore(toNotice(subject)),
    /** Sends the present state, if any was sent before, to receivers that were just added to the list. */
    add(newcomers: readonly Notify[], subject: Subject): void {
      if (last) tellThese(newcomers, false, toNotice(subject), null);
    },
    /** Records changes in the store from now on, and the present state if others were told of it. False: it does so already. */
    addStore(subject: Subject): boolean {
      if (hasStore) return false;
      hasStore = true;
      if (last) tellThese([], true, toNotice(subject), null);
      return true;
    },
    /** Sends this to workflows beside the notices. */
    signal(to: readonly SignalReceiver[], payload: object): void {
      enqueue(to.map((one) => () => signal(one, payload)));
    },
    /** Tells only the store, if it was added. */
    tellStore(event: NoticeEvent): void {
      if (hasStore) enqueue(toRuns([store], event));
    },
    /** Records this in the store, which gets nothing else of this run. */
    recordAlone: (event: NoticeEvent): void => enqueue(toRuns([store], event)),
    /** What the next run needs when this one continues as new. */
    carry: (): CarriedNotifier<Told> => ({ last, told, hasStore, begun }),
  };
}

const nothingTold = { last: null, told: 0, hasStore: false, begun: [] };

/** One line for a receiver that missed a notice; null: it got it. */
type Missed = string | null;

/** Sends one notice after the other, each to all its receivers at once; also while the run is being cancelled. */
function openQueue(onUndelivered: (() => void) | undefined) {
  const undelivered: string[] = [];
  let queue: Promise<unknown> = Promise.resolve();
  let queued = 0;
  return {
    enqueue(sends: (() => Promise<Missed>)[]): void {
      if (sends.length === 0) return;
      queued += 1;
      const sendAll = () => CancellationScope.nonCancellable(() => Promise.all(sends.map((send) => send())));
      queue = queue.then(sendAll).then((missed) => {
        queued -= 1;
        const news = missed.flatMap((line) => (line !== null && !undelivered.includes(line) ? line : []));
        undelivered.push(...news);
        if (news.length > 0) onUndelivered?.();
      });
    },
    /** One line, for the UI, for each receiver whose workflow took no signal. */
    undelivered: (): readonly string[] => undelivered,
    /** Have all workflows accepted or refused their signals? */
    isQuiet: (): boolean => queued === 0,
    /** Waits until they have, also where the run is being cancelled. */
    settled: (): Promise<void> => CancellationScope.nonCancellable(() => condition(() => queued === 0)),
  };
}

async function signal({ workflowId, signal: name }: SignalReceiver, notice: object): Promise<Missed> {
  if (await isTaken(workflowId, name, notice)) return null;
  log.warn('notify failed', { workflowId, signal: name });
  return `${workflowId} by signal ${name}: no such running workflow`;
}

/** False: no such workflow runs, or it takes no more signals. */
async function isTaken(workflowId: string, name: string, notice: object): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(name, notice);
    return true;
  } catch {
    return false;
  }
}

/** Which run of `notices` sends a notice, and how to start it. */
interface NoticesRun {
  account: AccountName;
  receiver: string;
  isBegun: boolean;
  maxWaiting: number;
}

async function give({ account, receiver, isBegun, maxWaiting }: NoticesRun, notice: Notice): Promise<Missed> {
  const { workflowId: about, firstExecutionRunId: firstRunId } = workflowInfo();
  const workflowId = noticesId({ about, firstRunId, receiver });
  if (isBegun && (await isTaken(workflowId, noticeGivenSignal.name, notice))) return null;
  try {
    // Again, where it went quiet or a person ended it.
    await startChild<typeof notices>('notices', {
      workflowId,
      args: [noticesSince(notice, maxWaiting)],
      parentClosePolicy: 'ABANDON',
      typedSearchAttributes: [{ key: rideAccountKey, value: account }],
      staticSummary: shownText(`Notices about ${about} to ${shownUrl(notice.to)}`.slice(0, 200)),
    });
    return null;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  // An operator reset this run to a point before its first notice, and the run that it had started goes on.
  if (await isTaken(workflowId, noticeGivenSignal.name, notice)) return null;
  return `${shownUrl(notice.to)}: ${workflowId} takes no notice`;
}
