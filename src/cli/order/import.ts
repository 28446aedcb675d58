import { createReadStream, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { FollowOrderInput } from '../../client/index.js';
import { InvalidInput } from '../../domain/errors.js';
import { readJson } from '../../domain/json.js';
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
scheduledAt, notify (one URL). Rows without an account are of --account. An
order is followed once however often its row comes; --skip leaves rows out that
were done before, by the number that the command has shown. Ends with 1 if a
row was refused; the others are followed.`;

const columns = ['account', 'orderId', 'reference', 'scheduledAt', 'notify'] as const;

/** `order import <file>`: follow many orders. */
export const importCommand: CommandSpec = {
  form: 'import <file>',
  does: 'follow the orders of a file, each once',
  examples: ['orders.csv --account partner', 'orders.jsonl --per-second 20 --skip 512', '- < orders.jsonl'],
  more: help,
  options: [
    accountOption('of rows that name none'),
    option('--per-second <n>', 'orders a second', toNumber).default(50),
    option('--skip <rows>', 'how many rows at the beginning are done', toRowCount).default(0),
    option('--again', 'also orders whose following was stopped or has expired'),
  ],
  act: inSession(importOrders),
};

interface Import {
  file: string;
  account?: string;
  perSecond: number;
  skip: number;
  again?: boolean;
}

function toRowCount(text: string, field: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidInput(`${field}: must be a number of rows`);
  return Number(text);
}

const shownRows = 20;

async function importOrders(session: Session, wanted: Import): Promise<number> {
  const { perSecond, skip, again = false } = wanted;
  const stop = new AbortController();
  const unlisten = session.onInterrupt(() => stop.abort());
  const taken: unknown[] = [];
  const accounts = new Set<AccountName>();
  const refused: { row: number; error: string }[] = [];
  let done = skip;
  const noteSometimes = createProgressNote(session);
  const refusedLines = () => firstLines(refused, shownRows, ({ row, error }) => `row ${row}: ${plain(error)}`);
  const goOn = () => `To go on from here: the same command with --skip ${done}`;
  try {
    const rows = rowsAfter(skip, readRows(wanted), { taken, signal: stop.signal });
    for await (const followed of session.rides.followMany(rows, { perSecond, again })) {
      done += 1;
      const row = taken.shift() as FollowOrderInput;
      if ('error' in followed) refused.push({ row: done, error: followed.error.message });
      else accounts.add(row.account as AccountName);
      noteSometimes(() => `${done} rows, ${refused.length} refused`);
    }
  } catch (error) {
    if (done > skip) session.note([...refusedLines(), goOn()].join('\n'));
    throw error;
  } finally {
    unlisten();
  }
  const missing = await readEach([...accounts], (account) => missingWorkers(session, account));
  const warnings = [...new Set(missing)];
  const isInterrupted = stop.signal.aborted;
  const rows = done - skip;
  const followed = rows - refused.length;
  const head = paint(refused.length === 0 ? 'good' : 'bad', `${followed} of ${rows} orders are followed.`);
  const state = isInterrupted ? 'interrupted' : 'done';
  session.tell({ state, rows, followed, refused, warnings }, [head, ...refusedLines()].join('\n'));
  session.warn(warnings);
  if (isInterrupted) {
    session.note(goOn());
    return exitCodes.interrupted;
  }
  return refused.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** The rows behind the first ones, which are done. `taken` gets each. */
async function* rowsAfter(
  skip: number,
  rows: AsyncIterable<Row>,
  { taken, signal }: { taken: Row[]; signal: AbortSignal },
): AsyncGenerator<FollowOrderInput> {
  let number = 0;
  for await (const row of rows) {
    if (signal.aborted) return;
    number += 1;
    if (number <= skip) continue;
    taken.push(row);
    yield row as FollowOrderInput; // the client checks it
  }
}

/** Whatever a row holds. */
type Row = unknown;

const isObject = (row: Row): row is Record<string, unknown> => typeof row === 'object' && row !== null;

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
      row = readJson(line);
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
