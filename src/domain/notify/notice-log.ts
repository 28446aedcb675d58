import { InstantSchema } from '../instant.js';
import * as s from '../schema.js';
import { hostOf, type UrlEntry } from './receivers.js';

/** A number of notices, or of one of them. */
export const noticeNumber = s.wholeNumber(0, Number.MAX_SAFE_INTEGER, 'must be a whole number');

/** One thing that URLs are told of. */
const NoticeSchema = s.inputOf({
  // Counted from 1 through the whole life of the run, past every continue-as-new.
  number: noticeNumber,
  // When it became known.
  at: InstantSchema,
  // The JSON that is sent.
  event: s.anyObject() as s.Schema<object>,
  // For this reader alone; otherwise for all there were at that time.
  only: s.optional(noticeNumber),
});
/** One thing that URLs are told of. */
export type Notice = s.Read<typeof NoticeSchema>;

/** How far one URL was told. */
const NoticeReaderSchema = s.inputOf({
  // It is past all that come before this number.
  next: noticeNumber,
  // It has answered that it wants no more.
  isGone: s.flag,
  // What it was not told of and never will be: how many, the last of them, and why.
  missed: s.nullable(s.inputOf({ count: noticeNumber, last: noticeNumber, why: s.answered() })),
  // Until then a request of the run before may be under way, and nothing must overtake it.
  busyUntil: s.optional(InstantSchema),
});
/** How far one URL was told. Instants are ISO 8601 UTC. */
export type NoticeReader = s.Read<typeof NoticeReaderSchema>;

/** What several URLs are told of, each at its own speed. Every notice is kept once, in their order, until all have been told. */
export const NoticeLogSchema = s.inputOf({
  last: noticeNumber,
  notices: s.listOf(NoticeSchema),
  readers: s.listOf(NoticeReaderSchema),
});
/** What several URLs are told of. Plain JSON. */
export type NoticeLog = s.Read<typeof NoticeLogSchema>;

/** A log that nothing was written in yet. */
export const openNoticeLog = (readers: number): NoticeLog => {
  const empty: NoticeLog = { last: 0, notices: [], readers: [] };
  return Array.from({ length: readers }).reduce<NoticeLog>((log) => addReader(log), empty);
};

/** Adds a reader, who is told of what comes from now on. */
export const addReader = (log: NoticeLog): NoticeLog => ({
  ...log,
  readers: [...log.readers, { next: log.last + 1, isGone: false, missed: null }],
});

/** Adds a notice. Beyond `max` the oldest is dropped, but for what somebody is being told of just now. */
export function addNotice(log: NoticeLog, { event, at, only }: Omit<Notice, 'number'>, max: number): NoticeLog {
  const last = log.last + 1;
  const added: Notice = { number: last, at, event, ...(only === undefined ? {} : { only }) };
  const longer = withoutRead({ ...log, last, notices: [...log.notices, added] });
  return longer.notices.length > max ? withoutOldest(longer) : longer;
}

const isFor = ({ number, only }: Notice, { next, isGone }: NoticeReader, index: number): boolean =>
  !isGone && number >= next && (only === undefined || only === index);

/** What a reader is to be told of next; undefined when it knows all. */
export function nextNotice({ notices, readers }: NoticeLog, index: number): Notice | undefined {
  const reader = readers[index];
  return reader && notices.find((notice) => isFor(notice, reader, index));
}

function withoutRead(log: NoticeLog): NoticeLog {
  const isWanted = (notice: Notice) => log.readers.some((reader, index) => isFor(notice, reader, index));
  return { ...log, notices: log.notices.filter(isWanted) };
}

function withoutOldest(log: NoticeLog): NoticeLog {
  const underWay = log.readers.map((_, index) => nextNotice(log, index));
  const oldest = log.notices.find((notice) => !underWay.includes(notice));
  if (oldest === undefined) return log;
  const readers = log.readers.map((reader, index) =>
    isFor(oldest, reader, index) ? withMissed(reader, oldest.number, 'too many were waiting') : reader,
  );
  return { ...log, notices: log.notices.filter((notice) => notice !== oldest), readers };
}

/**
 * Why a URL was not told. `refused`: it answered with a 4xx. `gone`: it wants no more. `originNotAllowed` and
 * `addressNotAllowed`: the settings forbid it. `expired`: a day went by. `dropped`: too many were waiting.
 */
export type MissedReason = 'refused' | 'gone' | 'originNotAllowed' | 'addressNotAllowed' | 'expired' | 'dropped';

/** What became of telling a reader. `why` is for people. */
export type NoticeFate = { kind: 'told' } | { kind: 'missed'; reason: MissedReason; why: string };

/** The log after a reader was told of `number`, or was given up. */
export function passNotice(log: NoticeLog, index: number, number: number, fate: NoticeFate): NoticeLog {
  const pass = (reader: NoticeReader): NoticeReader => {
    const after = { ...reader, next: number + 1 };
    if (fate.kind === 'told') return after;
    return { ...withMissed(after, number, fate.why), isGone: fate.reason === 'gone' };
  };
  return withoutRead({ ...log, readers: log.readers.map((reader, at) => (at === index ? pass(reader) : reader)) });
}

/** The log while requests to these readers may be under way that the next run knows nothing of. */
export const withBusy = (log: NoticeLog, isBusy: (index: number) => boolean, busyUntil: string): NoticeLog => ({
  ...log,
  readers: log.readers.map((reader, index) => (isBusy(index) ? { ...reader, busyUntil } : reader)),
});

const withMissed = (reader: NoticeReader, number: number, why: string): NoticeReader => ({
  ...reader,
  missed: { count: (reader.missed?.count ?? 0) + 1, last: number, why },
});

/** What a URL missed, for the UI. */
export function describeMissed({ missed, isGone }: NoticeReader, { url, entry }: UrlEntry): string[] {
  if (missed === null) return [];
  const { count, last, why } = missed;
  const which = isGone ? `from no. ${last}` : count === 1 ? `no. ${last}` : `${count}, last no. ${last}`;
  return [`notify[${entry}] ${hostOf(url).slice(0, 30)}, ${which}: ${why}`];
}
