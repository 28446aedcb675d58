import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  log,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { NotifyActivities } from '../activities/notify-activities.js';
import {
  addNotice,
  addReader,
  describeMissed,
  type Notice,
  type NoticeFate,
  type NoticeLog,
  nextNotice,
  openNoticeLog,
  passNotice,
} from '../domain/notice-log.js';
import { isUrlReceiver, type Notify, type UrlReceiver } from '../domain/notify.js';

/** Tells URLs of changes, each in their order and at its own speed. */
export interface UrlNotices {
  tell(event: object): void;
  /** Adds a URL, the receiver number `entry` of all, and tells it alone of `event`. */
  welcome(receiver: UrlReceiver, entry: number, event: object | null): void;
  /** Has every URL been told of everything, or given up? */
  isIdle(): boolean;
  /** Resolves when that is so for what was told until now. Ends early, and never rejects, when the run is cancelled. */
  settled(): Promise<void>;
  /** One line for each URL that missed something. */
  missed(): string[];
  /** What the run that continues this one needs; undefined when there are no URLs. */
  carry(): NoticeLog | undefined;
}

interface UrlNoticesOptions {
  receivers: readonly Notify[];
  carried: NoticeLog | undefined;
  /** What is kept for a URL that does not answer. */
  maxWaiting: number;
  /** A URL has missed something more. */
  onMissed(): void;
}

/** An attempt takes at most 15 s; a dead worker is noticed by this alone. */
const startToCloseTimeout = 30_000;
/** A URL that does not answer is given up a day after the change became known ... */
const giveUpMs = 86_400_000;
/** ... but not before it was tried: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

/** A URL that refuses or stays silent holds up no other, and never the run itself. */
export function createUrlNotices({ receivers, carried, maxWaiting, onMissed }: UrlNoticesOptions): UrlNotices {
  const urls = receivers.flatMap((receiver, entry) => (isUrlReceiver(receiver) ? [{ url: receiver.url, entry }] : []));
  const pumps: (Promise<void> | null)[] = [];
  let state = carried ?? openNoticeLog(urls.length);

  async function pump(index: number, url: string): Promise<void> {
    try {
      for (let notice = nextNotice(state, index); notice; notice = nextNotice(state, index)) {
        const fate = await post(url, notice);
        state = passNotice(state, index, notice.number, fate);
        if (fate.kind !== 'told') onMissed();
      }
    } finally {
      pumps[index] = null; // at once: what is told in this very moment must start it again
    }
  }

  function startPumps(): void {
    for (const [index, { url }] of urls.entries()) {
      if (pumps[index] || !nextNotice(state, index)) continue;
      pumps[index] = pump(index, url);
    }
  }

  function write(event: object, only?: number): void {
    const notice = { event, at: new Date().toISOString(), ...(only === undefined ? {} : { only }) };
    const before = countMissed(state);
    state = addNotice(state, notice, maxWaiting);
    if (countMissed(state) !== before) onMissed();
    startPumps();
  }

  const isIdle = (): boolean => pumps.every((pump) => pump === null);

  startPumps();
  return {
    isIdle,
    tell(event) {
      if (urls.length > 0) write(event);
    },
    welcome({ url }, entry, event) {
      const only = urls.push({ url, entry }) - 1;
      state = addReader(state);
      if (event !== null) write(event, only);
    },
    async settled() {
      while (!isIdle()) await Promise.all(pumps);
    },
    missed: () => urls.flatMap(({ url, entry }, index) => describeReader(state, index, url, entry)),
    carry: () => (urls.length === 0 ? undefined : state),
  };
}

const countMissed = ({ readers }: NoticeLog): number =>
  readers.reduce((sum, { missed }) => sum + (missed?.count ?? 0), 0);

function describeReader({ readers }: NoticeLog, index: number, url: string, entry: number): string[] {
  const reader = readers[index];
  return reader ? describeMissed(reader, url, entry) : [];
}

async function post(url: string, { number, at, event }: Notice): Promise<NoticeFate> {
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(at) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    cancellationType: 'TRY_CANCEL',
    summary: `Tell ${new URL(url).host.slice(0, 100)} of change ${number}`,
  });
  try {
    // The first run's id stays the same when a run continues as new, and differs when the order is followed once more.
    await notifyUrl({ url, event, id: `msg_${workflowInfo().firstExecutionRunId}_${number}` });
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error)) return { kind: 'missed', why: 'the run was cancelled' };
    const cause = error instanceof ActivityFailure ? error.cause : error;
    const failure = cause instanceof ApplicationFailure ? cause : undefined;
    log.warn('notify failed', { number, type: failure?.type });
    return {
      kind: failure?.type === 'ReceiverGone' ? 'gone' : 'missed',
      why: failure?.nonRetryable ? failure.message : 'given up after a day',
    };
  }
}
