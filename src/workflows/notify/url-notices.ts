import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  log,
  metricMeter,
  proxyActivities,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { NotifyActivities } from '../../activities/notify.js';
import type { LateNotices } from '../../domain/notify/late-notices.js';
import {
  addNotice,
  addReader,
  describeMissed,
  type MissedReason,
  type Notice,
  type NoticeFate,
  type NoticeLog,
  nextNotice,
  openNoticeLog,
  passNotice,
  withBusy,
} from '../../domain/notify/notice-log.js';
import { hostOf, type UrlEntry } from '../../domain/notify/receivers.js';

/** Tells URLs of changes, each in their order and at its own speed. */
export interface UrlNotices {
  tell(event: object): void;
  /** Adds a URL and tells it alone of `event`. */
  welcome(receiver: UrlEntry, event: object | null): void;
  /** Has every URL been told of everything, or given up? */
  isIdle(): boolean;
  /** Sends nothing more; what is told from now on waits. Requests that have just begun may end, for a second: what they came
   *  to need not be told again by another run. */
  hush(): Promise<void>;
  /** Goes on after a `hush`. */
  resume(): void;
  /** Another run has begun to send what is left, and was stopped: its last requests must be over first. */
  takeBack(): void;
  /** What is still to be told, for another run. */
  left(): LateNotices;
  /** One line for each URL that missed something. */
  missed(): string[];
}

interface UrlNoticesOptions {
  urls: readonly UrlEntry[];
  carried: NoticeLog | undefined;
  /** Begins the id of every notice: stays the same when a run continues as new, and differs when an order is followed once
   *  more. */
  firstRunId: string;
  /** What is kept for a URL that does not answer. */
  maxWaiting: number;
  /** A URL was told of something, or has missed it, or has more to be told. */
  onChange(): void;
}

/** A receiver that is well answers a request that is under way sooner. */
const hushMs = 1_000;

/** A URL that refuses or stays silent delays neither other URLs nor the run. */
export function createUrlNotices(options: UrlNoticesOptions): UrlNotices {
  const { firstRunId, maxWaiting, onChange } = options;
  const urls = [...options.urls];
  /** When what each URL is just being told was begun; null while it is told nothing. */
  const begunAt: (number | null)[] = urls.map(() => null);
  let log = options.carried ?? openNoticeLog(urls.length);
  let scope = new CancellationScope();

  async function pump(index: number, url: string): Promise<void> {
    await untilFree(log.readers[index]?.busyUntil);
    for (let notice = nextNotice(log, index); notice; notice = nextNotice(log, index)) {
      begunAt[index] = Date.now();
      const fate = await requestNotice(url, notice, `msg_${firstRunId}_${notice.number}`);
      if (fate === null) return; // it was hushed
      log = passNotice(log, index, notice.number, fate);
      onChange();
    }
  }

  function startPumps(): void {
    for (const [index, { url }] of urls.entries()) {
      if (scope.consideredCancelled || isRunning(index) || !nextNotice(log, index)) continue;
      begunAt[index] = Date.now();
      scope
        .run(() => pump(index, url))
        .finally(() => {
          begunAt[index] = null;
          startPumps(); // for what was told in this very moment, or after a hush
        })
        .catch((error: unknown) => {
          if (!isCancellation(error)) throw error;
        });
    }
  }

  const isRunning = (index: number): boolean => typeof begunAt[index] === 'number';
  const runs = (since: number): boolean => begunAt.some((begun) => begun !== null && begun > since);

  function write(event: object, only?: number): void {
    const notice = { event, at: new Date().toISOString(), ...(only === undefined ? {} : { only }) };
    const before = countMissed(log);
    log = addNotice(log, notice, maxWaiting);
    const dropped = countMissed(log) - before;
    if (dropped > 0) countNotices({ outcome: 'dropped', count: dropped });
    onChange();
    startPumps();
  }

  const markBusy = (isBusy: (index: number) => boolean): void => {
    log = withBusy(log, isBusy, new Date(Date.now() + attemptMs).toISOString());
  };

  startPumps();
  return {
    tell(event) {
      if (urls.length > 0) write(event);
    },
    welcome(receiver, event) {
      const only = urls.push(receiver) - 1;
      log = addReader(log);
      if (event !== null) write(event, only);
    },
    isIdle: () => log.notices.length === 0,
    async hush() {
      const summary = 'Let requests under way end';
      const isYoung = (): boolean => runs(Date.now() - hushMs);
      if (isYoung()) await condition(() => !isYoung(), hushMs, { summary });
      scope.cancel(); // what waits for its next attempt ends at once; what is at its receiver is not cut off
      if (runs(0)) await condition(() => !runs(0), hushMs, { summary });
      markBusy(isRunning);
    },
    resume() {
      scope = new CancellationScope();
      startPumps();
    },
    takeBack: () => markBusy(() => true),
    left: () => ({ urls, log }),
    missed: () => missedIn({ urls, log }),
  };
}

/** For the run that continues this one. */
export function carryNotices(notices: UrlNotices): { notices?: NoticeLog } {
  const { urls, log } = notices.left();
  return urls.length === 0 ? {} : { notices: log };
}

const missedIn = ({ urls, log: { readers } }: LateNotices): string[] =>
  urls.flatMap((url, index) => {
    const reader = readers[index];
    return reader ? describeMissed(reader, url) : [];
  });

async function untilFree(busyUntil: string | undefined): Promise<void> {
  const waitMs = busyUntil === undefined ? 0 : Date.parse(busyUntil) - Date.now();
  if (waitMs > 0) await sleep(waitMs, { summary: 'Until the last request of the run before is over' });
}

const countMissed = ({ readers }: NoticeLog): number =>
  readers.reduce((sum, { missed }) => sum + (missed?.count ?? 0), 0);

/** The deadline of one request. */
const attemptMs = 15_000;
/** A dead worker is noticed by this alone. */
const startToCloseTimeout = 2 * attemptMs;
/** A URL that does not answer is given up a day after the change became known ... */
const giveUpMs = 86_400_000;
/** ... but not before it was tried: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

/** Tells a URL of one thing, however often that must be tried. Null when it was cancelled and has come to no end. */
async function requestNotice(url: string, { number, at, event }: Notice, id: string): Promise<NoticeFate | null> {
  const scope = CancellationScope.current();
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(at) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    // An attempt under way ends by itself and soon, and what it came to is worth knowing.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Tell ${hostOf(url)} of change ${number}`,
  });
  const { origin } = new URL(url);
  try {
    await notifyUrl({ url, event, id });
    countNotices({ outcome: 'told', origin });
    return { kind: 'told' };
  } catch (error) {
    const last = lastFailure(error);
    // A cancelled activity is not tried again, so the failure of its last attempt is not the last word on the notice.
    if (!last?.nonRetryable && (isCancellation(error) || scope.consideredCancelled)) return null;
    const fate = last?.nonRetryable ? toFate(last) : expired;
    log.warn('notify failed', { number, reason: fate.reason });
    const isAllowed = last !== undefined && fate.reason !== 'originNotAllowed';
    countNotices({ outcome: fate.reason, ...(isAllowed && { origin }) });
    return fate;
  }
}

type Missed = Extract<NoticeFate, { kind: 'missed' }>;

const expired: Missed = { kind: 'missed', reason: 'expired', why: 'given up after a day' };

/** Of the activity itself; undefined when no attempt of it came to an end. */
function lastFailure(error: unknown): ApplicationFailure | undefined {
  let cause = error;
  while (cause instanceof ActivityFailure || cause instanceof TimeoutFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : undefined;
}

function toFate({ type, message: why }: ApplicationFailure): Missed {
  switch (type) {
    case 'ReceiverGone':
      return { kind: 'missed', reason: 'gone', why };
    case 'OriginNotAllowed':
      return { kind: 'missed', reason: 'originNotAllowed', why };
    case 'AddressNotAllowed':
      return { kind: 'missed', reason: 'addressNotAllowed', why };
    default:
      return { kind: 'missed', reason: 'refused', why };
  }
}

interface CountedNotices {
  outcome: 'told' | MissedReason;
  /** Only one that the operator has allowed: anybody may name any other. */
  origin?: string | undefined;
  count?: number;
}

/** Counts what became of notices to URLs; not again when a run is replayed. */
const countNotices = ({ outcome, origin = 'other', count = 1 }: CountedNotices): void =>
  metricMeter
    .createCounter('faretrail_notices_total', undefined, 'Notices to URLs by what became of them.')
    .add(count, { origin, outcome });
