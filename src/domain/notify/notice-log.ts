import { InstantSchema } from '../instant.js';
import * as s from '../schema.js';
import { shownReader, storeEntry, type UrlEntry } from './receivers.js';

/** A number of notices, or of one of them. */
export const noticeNumber = s.wholeNumber(0, Number.MAX_SAFE_INTEGER, 'must be a whole number');

const NoticeSchema = s.inputOf({
  // Counted from 1 through the whole life of the run, past every continue-as-new.
  number: noticeNumber,
  // When the run learnt of the change.
  at: InstantSchema,
  // The JSON that is sent.
  event: s.anyObject() as s.Schema<object>,
  // Only for this reader; otherwise for all readers at that time.
  only: s.optional(noticeNumber),
});
/** One notice for URLs. */
export type Notice = s.Read<typeof NoticeSchema>;

const NoticeReaderSchema = s.inputOf({
  // The number of its next notice.
  next: noticeNumber,
  // It has answered that it wants no more notices (410).
  isGone: s.flag,
  // The notices that it never got: how many, the last one, and why.
  missed: s.nullable(s.inputOf({ count: noticeNumber, last: noticeNumber, why: s.answered() })),
  // Until then a request of the previous run may be under way, and no other may overtake it.
  busyUntil: s.optional(InstantSchema),
  // It is the store, and no URL.
  isStore: s.optional(s.flag),
});
/** How far one URL has got. Instants are ISO 8601 UTC. */
export type NoticeReader = s.Read<typeof NoticeReaderSchema>;

/** Notices for several URLs, each with its own speed. The log keeps every notice once, in order, until all readers have it. */
export const NoticeLogSchema = s.inputOf({
  last: noticeNumber,
  notices: s.listOf(NoticeSchema),
  readers: s.listOf(NoticeReaderSchema),
});
/** Notices for several URLs. Plain JSON. */
export type NoticeLog = s.Read<typeof NoticeLogSchema>;

const newReader = (last: number): NoticeReader => ({ next: last + 1, isGone: false, missed: null });

/** An empty log. */
export const openNoticeLog = (readers: number): NoticeLog => ({
  ...{ last: 0, notices: [] },
  readers: Array.from({ length: readers }, () => newReader(0)),
});

/** Adds a reader, which gets the notices from now on. */
export const addReader = (log: NoticeLog, more: Pick<NoticeReader, 'isStore'> = {}): NoticeLog => ({
  ...log,
  readers: [...log.readers, { ...newReader(log.last), ...more }],
});

/** The readers of a log that was carried over: the store where it was added, and these URLs in their order. */
export function toReaders({ readers }: NoticeLog, urls: readonly UrlEntry[]): UrlEntry[] {
  const left = [...urls];
  return readers.flatMap(({ isStore }) => (isStore ? storeEntry : (left.shift() ?? [])));
}

/** Adds a notice. Beyond `max` it drops the oldest one that is not being sent just now. */
export function addNotice(log: NoticeLog, { event, at, only }: Omit<Notice, 'number'>, max: number): NoticeLog {
  const last = log.last + 1;
  const added: Notice = { number: last, at, event, ...(only === undefined ? {} : { only }) };
  const longer = withoutRead({ ...log, last, notices: [...log.notices, added] });
  return longer.notices.length > max ? withoutOldest(longer) : longer;
}

const isFor = ({ number, only }: Notice, { next, isGone }: NoticeReader, index: number): boolean =>
  !isGone && number >= next && (only === undefined || only === index);

/** The next notice of a reader; undefined if it has all. */
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
 * Why a URL missed a notice. `refused`: it answered with a 4xx that a repeat would not change. `gone`: it wants no more. `originNotAllowed` and
 * `addressNotAllowed`: the settings forbid it. `expired`: a day went by. `dropped`: too many were waiting.
 */
export type MissedReason = 'refused' | 'gone' | 'originNotAllowed' | 'addressNotAllowed' | 'expired' | 'dropped';

/** What became of a notice. `why` is for people. */
export type NoticeFate = { kind: 'told' } | { kind: 'missed'; reason: MissedReason; why: string };

/** The log after a reader got or missed the notice `number`. */
export function passNotice(log: NoticeLog, index: number, number: number, fate: NoticeFate): NoticeLog {
  const pass = (reader: NoticeReader): NoticeReader => {
    const after = { ...reader, next: number + 1 };
    if (fate.kind === 'told') return after;
    return { ...withMissed(after, number, fate.why), isGone: fate.reason === 'gone' };
  };
  return withoutRead({ ...log, readers: log.readers.map((reader, at) => (at === index ? pass(reader) : reader)) });
}

/** Marks readers to which a request may still be under way when the next run begins. */
export const withBusy = (log: NoticeLog, isBusy: (index: number) => boolean, busyUntil: string): NoticeLog => ({
  ...log,
  readers: log.readers.map((reader, index) => (isBusy(index) ? { ...reader, busyUntil } : reader)),
});

const withMissed = (reader: NoticeReader, number: number, why: string): NoticeReader => ({
  ...reader,
  missed: { count: (reader.missed?.count ?? 0) + 1, last: number, why },
});

/** What a URL missed, for the UI. */
export function describeMissed({ missed, isGone }: NoticeReader, reader: UrlEntry): string[] {
  if (missed === null) return [];
  const { count, last, why } = missed;
  const which = isGone ? `from no. ${last}` : count === 1 ? `no. ${last}` : `${count}, last no. ${last}`;
  return [`${shownReader(reader).slice(0, 50)}, ${which}: ${why}`];
}
