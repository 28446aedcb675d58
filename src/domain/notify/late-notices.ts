import { InvalidInput } from '../errors.js';
import { readInput } from '../input-fields.js';
import { AccountNameSchema } from '../keys.js';
import { cell, second } from '../markdown.js';
import * as s from '../schema.js';
import { NoticeLogSchema, nextNotice, noticeNumber } from './notice-log.js';
import { isStore, ReceiverUrlSchema, shownReader, storeEntry } from './receivers.js';

/** The server's limit for a workflow id. */
const maxWorkflowId = 1_000;

/** A URL, or the store. */
const ReaderSchema: s.Schema<string> = {
  ...ReceiverUrlSchema,
  read: (value, at) => (value === storeEntry.url ? storeEntry.url : ReceiverUrlSchema.read(value, at)),
};

const LateNoticesInputSchema = s.inputOf({
  account: AccountNameSchema,
  // Workflow id of the run that has ended.
  about: s.text(maxWorkflowId),
  // Its first run: the id of every notice begins with it, whichever run sends it.
  firstRunId: s.text(),
  urls: s.listOf(s.inputOf({ url: ReaderSchema, entry: noticeNumber })),
  // Its readers are these URLs, in the same order.
  log: NoticeLogSchema,
});
/** The input of `lateNotices`. Plain JSON. */
export type LateNoticesInput = s.Read<typeof LateNoticesInputSchema>;

/** The notices that a run has not sent to its URLs when it ends. A run of `lateNotices` sends them. */
export type LateNotices = Pick<LateNoticesInput, 'urls' | 'log'>;

/** Result of `lateNotices`: one line for each URL that missed something. */
export interface LateNoticesEnd {
  missed: string[];
}

/** Reads the input of `lateNotices`. Throws `InvalidInput` that names the field. */
export function parseLateNoticesInput(value: unknown): LateNoticesInput {
  const input = readInput(LateNoticesInputSchema, value);
  if (input.log.readers.length !== input.urls.length) throw new InvalidInput('log.readers: must be as many as urls');
  return input;
}

// With these limits the text stays below the server's limit of 20,000 bytes.
const maxRows = 50;
const maxMissed = 20;

/** The waiting and the missed notices, as Markdown for the Temporal UI. */
export function describeLateNotices(about: string, { urls, log }: LateNotices, missed: readonly string[]): string {
  const rows = urls.flatMap((reader, index) => {
    const next = nextNotice(log, index);
    if (next === undefined) return [];
    const waiting = log.notices.filter(({ number, only }) => number >= next.number && (only ?? index) === index);
    const known = second(next.at);
    return [`| ${cell(shownReader(reader))} | ${waiting.length} | no. ${next.number}, known since ${known} |`];
  });
  const table = ['| URL | to be told | next (UTC) |', '|---|---|---|', ...rows.slice(0, maxRows)].join('\n');
  return [
    `**Notices still to be sent about ${cell(about, 200)}**, which has ended.`,
    ...missed.slice(0, maxMissed).map((line) => `Not notified: ${cell(line)}`),
    ...(rows.length > 0
      ? [
          table,
          urls.some(isStore)
            ? 'Why one does not take it is shown by its pending activity, `notifyUrl` or `recordChange`.'
            : 'Why a URL does not take it is shown by its pending activity `notifyUrl`.',
        ]
      : []),
  ].join('\n\n');
}
