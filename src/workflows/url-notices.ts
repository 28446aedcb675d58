import { CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
import type { LateNotices } from '../domain/late-notices.js';
import {
  addNotice,
  addReader,
  describeMissed,
  type NoticeLog,
  nextNotice,
  openNoticeLog,
  passNotice,
  withBusy,
} from '../domain/notice-log.js';
import type { UrlEntry } from '../domain/notify.js';
import { countNotices } from './notice-metrics.js';
import { attemptMs, requestNotice } from './notice-request.js';

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

/** A URL that refuses or stays silent holds up no other, and never the run itself. */
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
