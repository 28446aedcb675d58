import { createReadStream, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { FollowOrderInput } from '../../client/index.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { accountOption, inBrackets, option, toNumber } from '../arguments.js';
import { type CommandSpec, createProgressNote, inSession, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { readEach } from '../lists.js';
import { missingWorkers } from '../processes.js';
import { firstLines, paint, plain } from '../text.js';

const help = `
A row is an order: a line of JSON, or where the name of the file ends in .csv a
line of CSV below a line of names. The names are account, orderId, reference,
scheduledAt, notify (one URL). Rows without an account are of --account. What
was done is kept in <file>.progress: the same command after an end of any kind
goes on there. Ends with 1 if a row was refused; the others are followed.`;

const columns = ['account', 'orderId', 'reference', 'scheduledAt', 'notify'] as const;

/** `order import <file>`: follow many orders. */
export const importCommand: CommandSpec = {
  form: 'import <file>',
  does: 'follow the orders of a file, each once',
  examples: ['orders.csv --account partner', 'orders.jsonl --per-second 20', '- --account partner < orders.jsonl'],
  more: help,
  options: [
    accountOption('of rows that name none'),
    option('--per-second <n>', 'orders a second', toNumber).default(50),
    option('--again', 'also orders whose following was stopped or has expired'),
  ],
  act: inSession(importOrders),
};

interface Import {
  file: string;
  account?: string;
  perSecond: number;
  again?: boolean;
}

const shownRows = 20;

async function importOrders(session: Session, wanted: Import): Promise<number> {
  const { progress, add, save } = keepProgress(wanted.file);
  const stop = new AbortController();
  const unlisten = session.onInterrupt(() => stop.abort());
  const taken: string[] = [];
  const accounts = new Set<string>();
  const { perSecond, again = false } = wanted;
  const noteSometimes = createProgressNote(session);
  try {
    const rows = rowsAfter(progress, readRows(wanted), { taken, signal: stop.signal });
    for await (const followed of session.rides.followMany(rows, { perSecond, again })) {
      const row = taken.shift() ?? '';
      add(row, 'error' in followed ? followed.error.message : null);
      if (!('error' in followed)) accounts.add(row.slice(0, row.indexOf('/')));
      noteSometimes(() => `${progress.done} rows, ${progress.refused.length} refused`);
    }
  } finally {
    save();
    unlisten();
  }
  const missing = await readEach([...accounts], (account) => missingWorkers(session, account as AccountName));
  const warnings = [...new Set(missing)];
  const isInterrupted = stop.signal.aborted;
  const { done: rows, refused } = progress;
  const followed = rows - refused.length;
  const head = paint(refused.length === 0 ? 'good' : 'bad', `${followed} of ${rows} orders are followed.`);
  const lines = firstLines(refused, shownRows, ({ row, error }) => `row ${row}: ${plain(error)}`);
  const state = isInterrupted ? 'interrupted' : 'done';
  session.tell({ state, rows, followed, refused, warnings }, [head, ...lines].join('\n'));
  session.warn(warnings);
  if (isInterrupted) {
    session.note('Interrupted. The same command goes on from here.');
    return exitCodes.interrupted;
  }
  return refused.length === 0 ? exitCodes.done : exitCodes.failed;
}

const saveEveryMs = 500;

/** The progress in the file beside the rows; nothing is kept of standard input. Throws `InvalidInput`. */
function keepProgress(file: string) {
  const path = file === '-' ? null : `${file}.progress`;
  const progress: Progress = (path === null ? null : readProgress(path)) ?? { done: 0, last: '', refused: [] };
  let savedAt = 0;
  const save = (): void => {
    if (path === null || progress.done === 0) return;
    try {
      writeFileSync(`${path}.new`, JSON.stringify(progress));
      renameSync(`${path}.new`, path);
    } catch (error) {
      throw new InvalidInput(
        `${path} cannot be written${inBrackets(error)}; put the rows into a folder of your own, or give them as -`,
      );
    }
    savedAt = Date.now();
  };
  return {
    progress,
    save,
    add(row: string, error: string | null): void {
      progress.done += 1;
      progress.last = row;
      if (error !== null) progress.refused.push({ row: progress.done, error });
      if (Date.now() - savedAt > saveEveryMs) save();
    },
  };
}

const ProgressSchema = z.object({
  done: z.int().min(1),
  last: z.string(),
  refused: z.array(z.object({ row: z.int(), error: z.string() })),
});
/** The first `done` rows of a file were taken, and `last` is the last one of them. */
type Progress = z.infer<typeof ProgressSchema>;

function readProgress(path: string): Progress | null {
  try {
    return ProgressSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new InvalidInput(`${path} cannot be read; remove it to begin with the first row`);
  }
}

/** The rows that are not done yet. `taken` gets a name of each. Throws `InvalidInput` where the file is another one. */
async function* rowsAfter(
  { done, last }: Progress,
  rows: AsyncIterable<Row>,
  { taken, signal }: { taken: string[]; signal: AbortSignal },
): AsyncGenerator<FollowOrderInput> {
  let number = 0;
  for await (const row of rows) {
    if (signal.aborted) return;
    number += 1;
    const name = nameOf(row);
    if (number === done && name !== last)
      throw new InvalidInput('the rows differ from those of <file>.progress; remove that to begin with the first one');
    if (number <= done) continue;
    taken.push(name);
    yield row as FollowOrderInput; // the client checks it
  }
}

/** Whatever a row holds. */
type Row = unknown;

const isObject = (row: Row): row is Record<string, unknown> => typeof row === 'object' && row !== null;
const nameOf = (row: Row): string => (isObject(row) ? `${row.account}/${row.orderId}` : '');

async function* readRows({ file, account }: Import): AsyncGenerator<Row> {
  const text = file === '-' ? process.stdin : createReadStream(file, { fd: open(file), encoding: 'utf8' });
  for await (const row of file.endsWith('.csv') ? csvRows(text) : jsonRows(text))
    yield isObject(row) && account !== undefined ? { account, ...row } : row;
}

function open(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw new InvalidInput(`${file} cannot be read${inBrackets(error)}`);
  }
}

/** A line that is no JSON gives null, which the client refuses. */
async function* jsonRows(text: NodeJS.ReadableStream): AsyncGenerator<Row> {
  for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '') continue;
    let row: Row = null;
    try {
      row = JSON.parse(line);
    } catch {}
    yield row;
  }
}

async function* csvRows(text: NodeJS.ReadableStream): AsyncGenerator<Row> {
  const { CsvError, parse } = await import('csv-parse'); // other commands need none
  const rows = text.pipe(parse({ bom: true, columns: toColumns, skip_empty_lines: true, trim: true }));
  try {
    for await (const row of rows) yield toInput(row);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new InvalidInput(`the CSV cannot be read on from line ${error.lines} (${error.code})`);
  }
}

function toColumns(names: string[]): string[] {
  const unknown = names.find((name) => !columns.includes(name as never));
  if (unknown !== undefined)
    throw new InvalidInput(`there is no column ${plain(unknown)}; the columns are ${columns.join(', ')}`);
  return names;
}

/** An empty field is none. */
function toInput({ notify, ...fields }: Record<string, string>): object {
  const given = Object.entries(fields).filter(([, field]) => field !== '');
  return { ...Object.fromEntries(given), ...(notify ? { notify: [{ url: notify }] } : {}) };
}
