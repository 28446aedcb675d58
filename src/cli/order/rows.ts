import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import type { TextDecoder } from 'node:util';
import { closestMatch } from 'leven';
import { FaretrailError, InvalidInput } from '../../domain/errors.js';
import { readJson, UnreadableJson } from '../../domain/json.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../domain/order/input.js';
import { decoderFor } from '../../settings/text-file.js';
import { inBrackets } from '../arguments.js';
import { plain } from '../text.js';

// The rows of a file of orders, as spreadsheets and other programs write them. Each is judged by itself, and nothing in it is guessed.

const columns = ['account', 'orderId', 'reference', 'scheduledAt', 'notify'] as const;

/** What to follow, or why the row is refused. */
export type Row = FollowOrderInput | InvalidInput;

/** A row of CSV with its fields by column, or a line in one part. `error`: it has more or fewer fields than there are columns. */
interface Parsed {
  record: Record<string, string> & readonly string[];
  info: { error?: unknown };
}

/** A quote that is never closed makes the rest of the file one row. */
const mostBytesOfRow = 1_000_000;
/** Room for any line of names. Lines of JSON may come one by one from another program, which is not kept waiting. */
const bytesAhead = { csv: 65_536, json: 4 };

/** The rows of a file (`-`: standard input) in their order, none left out but empty ones. Rows without an account are of `account`.
 *  Throws `InvalidInput` where the file cannot be read on. */
export async function* readRows(file: string, account?: string): AsyncGenerator<Row> {
  const isCsv = /\.[ct]sv$/i.test(file);
  const bytes = file === '-' ? process.stdin : createReadStream(file);
  try {
    const text = decoded(bytes, bytesAhead[isCsv ? 'csv' : 'json']);
    const { value: head = '' } = await text.next();
    for await (const parsed of parsedRows(head, text, isCsv))
      yield toRow(() => (isCsv ? fromCsv(parsed) : fromJson(parsed.record.join('\0'))), account);
  } catch (error) {
    if (error instanceof FaretrailError) throw error;
    const { lines, code } = error as { lines?: number; code?: string };
    if (lines !== undefined) throw new InvalidInput(`the file cannot be read on from line ${lines} (${code})`);
    throw code === undefined ? error : new InvalidInput(`${file} cannot be read${inBrackets(error)}`);
  }
}

/** The text of a file in UTF-8, or in UTF-16 with a byte order mark. What is neither becomes U+FFFD. Its first part is of `ahead` bytes, if
 *  there are so many. */
async function* decoded(bytes: AsyncIterable<Uint8Array>, ahead: number): AsyncGenerator<string> {
  let head = Buffer.alloc(0);
  let decoder: TextDecoder | undefined;
  for await (const part of bytes) {
    if (decoder) yield decoder.decode(part, { stream: true });
    else head = Buffer.concat([head, part]);
    if (decoder || head.length < ahead) continue;
    decoder = decoderFor(head);
    yield decoder.decode(head, { stream: true });
  }
  yield decoder ? decoder.decode() : decoderFor(head).decode(head);
}

const asUtf8 = 'save it as UTF-8 (spreadsheets: "CSV UTF-8")';

/** A line is a row of CSV with one field. */
async function* parsedRows(head: string, rest: AsyncIterable<string>, isCsv: boolean): AsyncGenerator<Parsed> {
  const { parse } = await import('csv-parse'); // other commands need none
  const [line = '', told] = isCsv ? (separatorLine.exec(head) ?? []) : [];
  const text = head.slice(line.length);
  // A quote within a field may protect it, see `toCell`.
  const csv = { delimiter: told ?? delimiterOf(text), columns: toColumns, relax_quotes: true };
  const form = isCsv ? csv : { delimiter: '\0', quote: null };
  const parser = parse({
    ...form,
    ...{ info: true, trim: true, skip_empty_lines: true, skip_records_with_empty_values: true },
    ...{ record_delimiter: ['\r\n', '\n', '\r'], relax_column_count: true, max_record_size: mostBytesOfRow },
  });
  async function* all() {
    yield text;
    yield* rest;
  }
  yield* pipeline(all, parser, () => undefined) as AsyncIterable<Parsed>; // it passes every error on
}

/** By this line spreadsheets learn what separates fields. It is no row. */
const separatorLine = /^"?sep=(.)"?(?:\r\n|\n|\r)/i;

/** The one that the names are separated by. */
function delimiterOf(head: string): string {
  const [names = ''] = /[^\r\n]+/.exec(head) ?? [];
  const count = (delimiter: string): number => names.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Without case, blanks and signs. */
const bare = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** A column without a name may be there as long as it is empty. */
function toColumns(names: string[]): string[] {
  const found = names.map((name, index) => {
    const known = columns.find((column) => bare(column) === bare(name));
    if (known || name === '') return known ?? `column ${index + 1}`;
    const nearest = columns.find((column) => bare(column) === closestMatch(bare(name), columns.map(bare)));
    const message = `there is no column ${plain(name.slice(0, 40))}; the nearest is ${nearest}`;
    throw new InvalidInput(`${message}, and the columns are ${columns.join(', ')}`);
  });
  const twice = found.find((name, index) => found.indexOf(name) < index);
  if (twice !== undefined) throw new InvalidInput(`there are two columns ${twice}; remove one`);
  return found;
}

/** An empty field is none. */
function fromCsv({ record, info }: Parsed): object {
  if (info.error) throw new InvalidInput('the row: has not as many fields as there are names of columns');
  const cells = Object.entries(record).map(([name, field]) => [name, toCell(name, field)] as const);
  const { notify, ...fields } = Object.fromEntries(cells.filter(([, cell]) => cell !== ''));
  return { ...fields, ...(notify ? { notify: [{ url: notify }] } : {}) };
}

/** A field as a person sees it in a spreadsheet, which protects texts as `="2009"` and `'2010`. What is protected has lost nothing. */
function toCell(name: string, field: string): string {
  const [, quoted] = /^="(.*)"$/s.exec(field) ?? [];
  if (quoted !== undefined) return quoted.replaceAll('""', '"');
  if (/^'[\d=+@-]/.test(field)) return field.slice(1);
  refuseLost(name, field);
  return field;
}

function fromJson(line: string): unknown {
  const given = readLine(line);
  const isObject = typeof given === 'object' && given !== null;
  for (const [name, value] of Object.entries(isObject ? given : {})) refuseLost(name, value);
  return given;
}

function readLine(line: string): unknown {
  try {
    return readJson(line);
  } catch (error) {
    if (!(error instanceof UnreadableJson)) throw error;
    throw new InvalidInput(`the row: ${error.message}`);
  }
}

function toRow(read: () => unknown, account: string | undefined): Row {
  try {
    const given = read();
    const isObject = typeof given === 'object' && given !== null;
    return parseFollowOrderInput(isObject && account !== undefined ? { account, ...given } : given);
  } catch (error) {
    if (error instanceof InvalidInput) return error;
    throw error;
  }
}

/** What spreadsheets and programs make of a field that was something else, and what it is. */
const lost: readonly { isLost: RegExp; what: string; onlyIds?: boolean }[] = [
  {
    // The sign keeps an id of hex digits, such as 12e11, apart.
    isLost: /^[+-]?\d{1,3}([.,]\d+)?E\+\d+$/i,
    what: 'is a number that a spreadsheet has shortened, so its digits are lost',
  },
  { isLost: /^[+-]?\d+[.,]0+$/, what: 'is a number to which a program has added a fraction', onlyIds: true },
  {
    isLost: /^\d{1,3}([,'’\s]\d{3})+$|^\d{1,3}(\.\d{3}){2,}$/,
    what: 'is a number in which a spreadsheet has grouped the digits',
    onlyIds: true,
  },
  { isLost: /"/, what: 'has a quote within it, which no id has', onlyIds: true },
  {
    isLost: /^(null|\(null\)|\\N|none|nan|undefined|[-–—]|#?n\/a|#(ref|value|num|null|div\/0)!|#name\?)$/i,
    what: 'is what a program writes in place of nothing',
  },
];

/** Refuses what has lost characters before it came to us, or stands for nothing. */
function refuseLost(name: string, value: unknown): void {
  const field = plain(name.slice(0, 40));
  const isText = typeof value === 'string';
  const found = lost.find(({ isLost, onlyIds }) => isText && isLost.test(value) && (!onlyIds || name === 'orderId'));
  if (found) {
    const remedy = 'format the column as text, fill it in anew or leave it empty, and save the file again';
    throw new InvalidInput(`${field}: ${found.what}; ${remedy}`);
  }
  if (JSON.stringify(value).includes('\ufffd'))
    throw new InvalidInput(`${field}: has characters that are not UTF-8, so the file has another encoding; ${asUtf8}`);
}
