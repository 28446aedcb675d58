import { InvalidInput } from '../errors.js';
import { toInputFields, toInputObject, toInputText } from '../input-fields.js';
import { toInstant } from '../instant.js';
import { type AccountName, toAccountName } from '../keys.js';
import { cell } from '../markdown.js';
import { receiverUrlRule, toReceiverUrl } from '../web-address.js';
import { type Notice, type NoticeLog, type NoticeReader, nextNotice } from './notice-log.js';
import { hostOf, type UrlEntry } from './receivers.js';

/** What URLs are still to be told when a run ends: from then on the work of a run of its own, `lateNotices`. */
export interface LateNotices {
  urls: UrlEntry[];
  /** Its readers are those URLs, in the same order. */
  log: NoticeLog;
}

/** What `lateNotices` is started with. Plain JSON. */
export interface LateNoticesInput extends LateNotices {
  account: AccountName;
  /** Workflow id of the run that has ended. */
  about: string;
  /** Its first run: the id of every notice begins with it, whoever sends it. */
  firstRunId: string;
}

/** Result of `lateNotices`: one line for each URL that missed something. */
export interface LateNoticesEnd {
  missed: string[];
}

/** Reads the input of `lateNotices`, which our own runs start, and any program may. Throws `InvalidInput` that names the field. */
export function parseLateNoticesInput(value: unknown): LateNoticesInput {
  const fields = toInputFields(value, ['account', 'about', 'firstRunId', 'urls', 'log']);
  const about = fields.about;
  if (typeof about !== 'string' || about === '' || about.length > maxWorkflowId)
    throw new InvalidInput(`about: must be a text of 1 to ${maxWorkflowId} characters`);
  return {
    account: toAccountName(fields.account),
    about,
    firstRunId: toInputText(fields.firstRunId, 'firstRunId'),
    ...toLeft(fields),
  };
}

/** What the server takes. */
const maxWorkflowId = 1_000;

function toLeft(fields: Record<string, unknown>): LateNotices {
  const urls = toList(fields.urls, 'urls', toUrlEntry);
  const log = toInputFields(fields.log, ['last', 'notices', 'readers'], 'log');
  const readers = toList(log.readers, 'log.readers', toReader);
  if (readers.length !== urls.length) throw new InvalidInput('log.readers: must be as many as urls');
  return {
    urls,
    log: { last: toWhole(log.last, 'log.last'), notices: toList(log.notices, 'log.notices', toNotice), readers },
  };
}

function toList<T>(value: unknown, name: string, toOne: (one: unknown, name: string) => T): T[] {
  if (!Array.isArray(value)) throw new InvalidInput(`${name}: must be a list`);
  return value.map((one, index) => toOne(one, `${name}[${index}]`));
}

function toWhole(value: unknown, name: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new InvalidInput(`${name}: must be a whole number`);
  return value as number;
}

function toUrlEntry(value: unknown, name: string): UrlEntry {
  const { url, entry } = toInputFields(value, ['url', 'entry'], name);
  const address = typeof url === 'string' ? toReceiverUrl(url) : undefined;
  if (address === undefined) throw new InvalidInput(`${name}.url: ${receiverUrlRule}`);
  return { url: address, entry: toWhole(entry, `${name}.entry`) };
}

function toNotice(value: unknown, name: string): Notice {
  const { number, at, event, only } = toInputFields(value, ['number', 'at', 'event', 'only'], name);
  return {
    number: toWhole(number, `${name}.number`),
    at: toInstant(at, `${name}.at`),
    event: toInputObject(event, `${name}.event`),
    ...(only === undefined ? {} : { only: toWhole(only, `${name}.only`) }),
  };
}

function toReader(value: unknown, name: string): NoticeReader {
  const { next, isGone, missed, busyUntil } = toInputFields(value, ['next', 'isGone', 'missed', 'busyUntil'], name);
  if (typeof isGone !== 'boolean') throw new InvalidInput(`${name}.isGone: must be true or false`);
  return {
    next: toWhole(next, `${name}.next`),
    isGone,
    missed: missed === null ? null : toMissed(missed, `${name}.missed`),
    ...(busyUntil === undefined ? {} : { busyUntil: toInstant(busyUntil, `${name}.busyUntil`) }),
  };
}

function toMissed(value: unknown, name: string): NonNullable<NoticeReader['missed']> {
  const { count, last, why } = toInputFields(value, ['count', 'last', 'why'], name);
  if (typeof why !== 'string') throw new InvalidInput(`${name}.why: must be a text`);
  return { count: toWhole(count, `${name}.count`), last: toWhole(last, `${name}.last`), why };
}

// So that all of it stays below the 20,000 bytes that the server takes.
const maxRows = 50;
const maxMissed = 20;

/** What is still to be told and what never will be, as Markdown for the Temporal UI. */
export function describeLateNotices(about: string, { urls, log }: LateNotices, missed: readonly string[]): string {
  const rows = urls.flatMap(({ url, entry }, index) => {
    const next = nextNotice(log, index);
    if (next === undefined) return [];
    const waiting = log.notices.filter(({ number, only }) => number >= next.number && (only ?? index) === index);
    const known = next.at.slice(0, 19).replace('T', ' ');
    return [`| notify ${entry}, ${cell(hostOf(url))} | ${waiting.length} | no. ${next.number}, known since ${known} |`];
  });
  const table = ['| URL | to be told | next (UTC) |', '|---|---|---|', ...rows.slice(0, maxRows)].join('\n');
  return [
    `**What URLs are still to be told of ${cell(about, 200)}**, which has ended.`,
    ...missed.slice(0, maxMissed).map((line) => `Not notified: ${cell(line)}`),
    ...(rows.length > 0 ? [table, 'Why a URL does not take it is shown by its pending activity `notifyUrl`.'] : []),
  ].join('\n\n');
}
