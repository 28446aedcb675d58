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
import type { StoreActivities } from '../../activities/store.js';
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
import { hostOf, isStore, type UrlEntry } from '../../domain/notify/receivers.js';
import type { StoredChange } from '../../domain/stored-change.js';

/** What is told. Standard Webhooks adds the time of the event. */
export interface UrlEvent {
  type: string;
  data: object;
}

/** Sends notices to URLs, to each in order and at its own speed. */
export interface UrlNotices {
  tell(event: UrlEvent): void;
  /** Adds a URL or the store, and sends `event` only there. */
  welcome(receiver: UrlEntry, event: UrlEvent | null): void;
  /** Tells only the store, if it was added. */
  tellStore(event: UrlEvent): void;
  /** Has every URL got or missed every notice? */
  isIdle(): boolean;
  /** Sends no more requests. Requests under way get a second to end, so that another run need not repeat them. */
  hush(): Promise<void>;
  /** Goes on after `hush`. */
  resume(): void;
  /** Waits for the last requests of another run, which began to send these notices and was stopped. */
  takeBack(): void;
  /** The waiting notices, for another run. */
  left(): LateNotices;
  /** One line for each URL that missed a notice. */
  missed(): string[];
}

interface UrlNoticesOptions {
  urls: readonly UrlEntry[];
  carried: NoticeLog | undefined;
  /** The prefix of every notice id. It stays when a run continues as new, and changes when a new run follows the order. */
  firstRunId: string;
  /** The most notices that are kept for a URL that does not answer. */
  maxWaiting: number;
  /** A notice was added, sent or missed. */
  onChange(): void;
}

/** A healthy receiver answers sooner. */
const hushMs = 1_000;

/** When the request under way to each URL or the store began, in milliseconds of the run's clock. */
function watchRequests() {
  const begunAt: (number | null)[] = [];
  const runs = (since: number): boolean => begunAt.some((begun) => begun !== null && begun > since);
  const isYoung = (): boolean => runs(Date.now() - hushMs);
  const summary = 'Let requests under way end';
  return {
    begin(index: number): void {
      begunAt[index] = Date.now();
    },
    end(index: number): void {
      begunAt[index] = null;
    },
    isRunning: (index: number): boolean => (begunAt[index] ?? null) !== null,
    /** Waits until each has ended or had its second. */
    async untilOld(): Promise<void> {
      if (isYoung()) await condition(() => !isYoung(), hushMs, { summary });
    },
    /** Waits for a second at most. */
    async untilOver(): Promise<void> {
      if (runs(0)) await condition(() => !runs(0), hushMs, { summary });
    },
  };
}

/** A URL that refuses or stays silent delays neither other URLs nor the run. */
export function createUrlNotices(options: UrlNoticesOptions): UrlNotices {
  const { firstRunId, maxWaiting, onChange } = options;
  const urls = [...options.urls];
  const requests = watchRequests();
  let log = options.carried ?? openNoticeLog(urls.length);
  let scope = new CancellationScope();

  async function pump(index: number, reader: UrlEntry): Promise<void> {
    await untilFree(log.readers[index]?.busyUntil);
    for (let notice = nextNotice(log, index); notice; notice = nextNotice(log, index)) {
      requests.begin(index);
      const fate = await (isStore(reader)
        ? recordChange(notice, firstRunId)
        : requestNotice(reader.url, notice, firstRunId));
      if (fate === null) return; // after `hush`
      log = passNotice(log, index, notice.number, fate);
      onChange();
    }
  }

  function startPumps(): void {
    for (const [index, reader] of urls.entries()) {
      if (scope.consideredCancelled || requests.isRunning(index) || !nextNotice(log, index)) continue;
      requests.begin(index);
      scope
        .run(() => pump(index, reader))
        .finally(() => {
          requests.end(index);
          startPumps(); // for notices that were added meanwhile, or after `resume`
        })
        .catch((error: unknown) => {
          if (!isCancellation(error)) throw error;
        });
    }
  }

  function write(event: UrlEvent, only?: number): void {
    const before = countMissed(log);
    log = addNotice(log, toNotice(event, only), maxWaiting);
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
      log = addReader(log, isStore(receiver) ? { isStore: true } : {});
      if (event !== null) write(event, only);
    },
    tellStore(event) {
      const store = urls.findIndex(isStore);
      if (store >= 0) write(event, store);
    },
    isIdle: () => log.notices.length === 0,
    async hush() {
      await requests.untilOld();
      scope.cancel(); // ends waits for another attempt at once, but no request under way
      await requests.untilOver();
      markBusy(requests.isRunning);
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

function toNotice({ type, data }: UrlEvent, only?: number): Omit<Notice, 'number'> {
  const at = new Date().toISOString();
  return { event: { type, timestamp: at, data }, at, ...(only === undefined ? {} : { only }) };
}

/** What the next run needs when this one continues as new. */
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
/** Only this timeout reveals a dead worker. */
const startToCloseTimeout = 2 * attemptMs;
/** The run gives a notice up a day after the change ... */
const giveUpMs = 86_400_000;
/** ... but tries it first: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

/** Sends one notice to a URL, with as many attempts as it takes. Null if it was cancelled without a final result. */
async function requestNotice(url: string, { number, at, event }: Notice, run: string): Promise<NoticeFate | null> {
  const scope = CancellationScope.current();
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(at) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    // An attempt under way ends soon, and its result matters.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Tell ${hostOf(url)} of change ${number}`,
  });
  const { origin } = new URL(url);
  try {
    await notifyUrl({ url, event, run, number });
    countNotices({ outcome: 'told', origin });
    return { kind: 'told' };
  } catch (error) {
    if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
    const last = lastFailure(error);
    // Temporal does not repeat a cancelled activity, so a retryable failure does not decide what becomes of the notice.
    if (!last?.nonRetryable && (isCancellation(error) || scope.consideredCancelled)) return null;
    const fate = last ? toFate(last) : expired;
    log.warn('notify failed', { number, reason: fate.reason });
    const isAllowed = last !== undefined && fate.reason !== 'originNotAllowed';
    countNotices({ outcome: fate.reason, ...(isAllowed && { origin }) });
    return fate;
  }
}

type Missed = Extract<NoticeFate, { kind: 'missed' }>;

const expired: Missed = { kind: 'missed', reason: 'expired', why: 'given up after a day' };

/** The failure of the last attempt; undefined if no attempt ended. */
function lastFailure(error: unknown): ApplicationFailure | undefined {
  let cause = error;
  while (cause instanceof ActivityFailure || cause instanceof TimeoutFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : undefined;
}

const reasonByType: ReadonlyMap<string, MissedReason> = new Map([
  ['ReceiverGone', 'gone'],
  ['OriginNotAllowed', 'originNotAllowed'],
  ['AddressNotAllowed', 'addressNotAllowed'],
]);

function toFate({ type, message: why, nonRetryable }: ApplicationFailure): Missed {
  const reason = reasonByType.get(type ?? '');
  if (reason === undefined && !nonRetryable) return expired;
  return { kind: 'missed', reason: reason ?? 'refused', why };
}

interface CountedNotices {
  outcome: 'told' | MissedReason;
  /** Only an origin that the operator has allowed, since callers may name any other. */
  origin?: string | undefined;
  count?: number;
}

/** Counts what became of notices to URLs, but not during replay. */
const countNotices = ({ outcome, origin = 'other', count = 1 }: CountedNotices): void =>
  metricMeter
    .createCounter('faretrail_notices', undefined, 'Notices to URLs by what became of them.')
    .add(count, { origin, outcome });

/** For so long a change waits for a store that does not answer. */
const rowKeptForMs = 30 * 86_400_000;
const rowRetry = { initialInterval: 5_000, backoffCoefficient: 2, maximumInterval: 120_000 };

/** Makes a row of a notice, with as many attempts as it takes. Null: cancelled. */
async function recordChange({ number, at, event }: Notice, run: string): Promise<NoticeFate | null> {
  const { type, data } = event as { type: string; data: StoredChange['change'] };
  const { recordChange: record } = proxyActivities<StoreActivities>({
    startToCloseTimeout: 30_000,
    scheduleToCloseTimeout: rowKeptForMs,
    retry: rowRetry,
    summary: `Record change ${number} in the store`,
  });
  try {
    await record({ run, notice: number, at, type, change: data });
    countRows('recorded');
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error)) return null;
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('a change was not recorded in the store', { number });
    countRows('expired');
    return { kind: 'missed', reason: 'expired', why: 'given up after 30 days' };
  }
}

/** Not during replay. */
const countRows = (outcome: 'recorded' | 'expired'): void =>
  metricMeter
    .createCounter('faretrail_stored_changes', undefined, 'Changes for the store by what became of them.')
    .add(1, { outcome });
