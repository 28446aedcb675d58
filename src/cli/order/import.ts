import type { FollowOrderInput } from '../../client/index.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { accountOption, option, toNumber } from '../arguments.js';
import { type CommandSpec, createProgressNote, inSession, type Session } from '../command.js';
import { exitCodes, toCliError } from '../failure.js';
import { type AccountGiven, refusalOf, startingRun } from '../known-account.js';
import { missingWorkers } from '../runs.js';
import { firstLines, paint, plain } from '../text.js';
import { type Row, readRows } from './rows.js';

const help = `
A row is an order: a line of JSON, or where the name of the file ends in .csv or
.tsv a line of CSV below a line of names, separated by commas, semicolons or
tabs. The names are account, orderId, reference, scheduledAt, notify (one URL),
in any case and with blanks (Order ID). The file is in UTF-8, or in UTF-16 with
a byte order mark. Rows without an account are of --account; empty ones do not
count. An order is followed once however often its row comes; --skip leaves rows
out that were done before, by the number that the command has shown. Ends with 1
if a row was refused; the others are followed.`;

/** `order import <file>`: follow many orders. */
export const importCommand: CommandSpec = startingRun({
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
});

interface Import extends AccountGiven {
  file: string;
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
  const { perSecond, skip, again = false, unknownAccount = false } = wanted;
  const stop = new AbortController();
  const unlisten = session.onInterrupt(() => stop.abort());
  const refused: { row: number; error: string }[] = [];
  const followed = { new: 0, alreadyFollowed: 0 };
  const accounts = new Set<AccountName>();
  const warnings = new Set<string>();
  const noteSometimes = createProgressNote(session);
  let read = 0;
  /** The rows that the client has got, until it tells what became of them. */
  const sent: number[] = [];
  const done = () => Math.max(skip, (sent[0] ?? read + 1) - 1);
  const refuse = (row: number, { message }: InvalidInput) => refused.push({ row, error: message });
  const refusedLines = () => firstLines(refused, shownRows, ({ row, error }) => `row ${row}: ${plain(error)}`);
  const goOn = () => `To go on from here: the same command with --skip ${done()}`;
  const judged = (row: Row): Row =>
    row instanceof InvalidInput || unknownAccount ? row : (refusalOf(row.account, session.config.accounts) ?? row);
  async function* inputs(): AsyncGenerator<FollowOrderInput> {
    for await (const given of readRows(wanted.file, wanted.account)) {
      if (stop.signal.aborted) return;
      read += 1;
      if (read <= skip) continue;
      const row = judged(given);
      if (row instanceof InvalidInput) {
        refuse(read, row);
        continue;
      }
      sent.push(read);
      if (!accounts.has(row.account)) await warnOf(row.account, session, warnings);
      accounts.add(row.account);
      yield row;
    }
  }
  try {
    for await (const one of session.rides.followMany(inputs(), { perSecond, again })) {
      const row = Number(sent.shift());
      if ('error' in one) refuse(row, one.error);
      else followed[one.isNew ? 'new' : 'alreadyFollowed'] += 1;
      noteSometimes(() => `${done()} rows, ${refused.length} refused`);
    }
  } catch (error) {
    if (done() > skip) session.note([...refusedLines(), goOn()].join('\n'));
    throw error;
  } finally {
    unlisten();
  }
  const isInterrupted = stop.signal.aborted;
  const rows = done() - skip;
  const counts = `${followed.new} new, ${followed.alreadyFollowed} already followed, ${refused.length} refused`;
  const head = paint(refused.length === 0 ? 'good' : 'bad', `${rows} rows: ${counts}.`);
  const state = isInterrupted ? 'interrupted' : 'done';
  const json = { state, rows, followed: rows - refused.length, ...followed, refused, warnings: [...warnings] };
  session.tell(json, [head, ...refusedLines()].join('\n'));
  if (isInterrupted) {
    session.note(goOn());
    return exitCodes.interrupted;
  }
  return refused.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** Warns of workers that an account lacks, unless these warnings say so. */
async function warnOf(account: AccountName, session: Session, warnings: Set<string>): Promise<void> {
  // Who may follow orders may not be allowed to ask this.
  const unknown = (error: unknown) => [`unknown whether a worker serves ${account}: ${toCliError(error).message}`];
  const found = await missingWorkers(session, account).catch(unknown);
  session.warn(found.filter((warning) => !warnings.has(warning)));
  for (const warning of found) warnings.add(warning);
}
