import { InvalidInput } from '../errors.js';
import { readInput } from '../input-fields.js';
import { AccountNameSchema } from '../keys.js';
import { cell } from '../markdown.js';
import * as s from '../schema.js';
import { NoticeLogSchema, nextNotice, noticeNumber } from './notice-log.js';
import { hostOf, ReceiverUrlSchema } from './receivers.js';

/** What the server takes as a workflow id. */
const maxWorkflowId = 1_000;

const LateNoticesInputSchema = s.inputOf({
  account: AccountNameSchema,
  // Workflow id of the run that has ended.
  about: s.text(maxWorkflowId),
  // Its first run: the id of every notice begins with it, whoever sends it.
  firstRunId: s.text(),
  urls: s.listOf(s.inputOf({ url: ReceiverUrlSchema, entry: noticeNumber })),
  // Its readers are those URLs, in the same order.
  log: NoticeLogSchema,
});
/** What `lateNotices` is started with. Plain JSON. */
export type LateNoticesInput = s.Read<typeof LateNoticesInputSchema>;

/** What URLs are still to be told when a run ends: from then on the work of a run of its own, `lateNotices`. */
export type LateNotices = Pick<LateNoticesInput, 'urls' | 'log'>;

/** Result of `lateNotices`: one line for each URL that missed something. */
export interface LateNoticesEnd {
  missed: string[];
}

/** Reads the input of `lateNotices`, which our own runs start, and any program may. Throws `InvalidInput` that names the field. */
export function parseLateNoticesInput(value: unknown): LateNoticesInput {
  const input = readInput(LateNoticesInputSchema, value);
  if (input.log.readers.length !== input.urls.length) throw new InvalidInput('log.readers: must be as many as urls');
  return input;
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
