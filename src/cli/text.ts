import { stripVTControlCharacters, styleText } from 'node:util';
import Table from 'cli-table3';
import { replaceUnshowable, shownText } from '../domain/json.js';

/** Text from outside, made safe for a terminal. */
export const plain = shownText;

/** What stands in place of a secret. */
export const hidden = '[secret]';

/** A text in which the service may have repeated these secrets, with each of them hidden. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((rest, secret) => rest.replaceAll(secret, hidden), text);

/** `plain`, cut to `width` characters. */
export function clip(text: string, width: number): string {
  const characters = [...plain(text)];
  return characters.length <= width ? characters.join('') : `${characters.slice(0, width - 1).join('')}…`;
}

/** An instant in UTC to the second, without its offset: the label beside it says UTC. A dash where there is none. */
export function utc(instant: string | Date | null | undefined): string {
  if (instant === null || instant === undefined) return '-';
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? plain(String(instant)) : date.toISOString().slice(0, 19).replace('T', ' ');
}

/** One line of JSON. Characters that control a terminal are escaped; a parser reads the same text. */
export const toJsonLine = (value: unknown): string =>
  replaceUnshowable(JSON.stringify(value), (character) =>
    // JSON escapes are UTF-16 units.
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

/** `plain` for text of several lines. */
export const toLines = (text: string): string => text.split(/\r?\n/).map(plain).join('\n');

const formats = { strong: 'bold', good: 'green', bad: 'red', faint: 'dim' } as const;

/** What a piece of text means; the colour follows from it. */
export type Tone = keyof typeof formats;

/** Colours a piece of text for a terminal. `asShown` takes the colour out where it is not wanted. */
export const paint = (tone: Tone, text: string): string => styleText(formats[tone], text, { validateStream: false });

/** What a stream shows of a text: its colour only at a terminal, and unless NO_COLOR is set (https://no-color.org). */
export const asShown = (text: string, isTerminal: boolean | undefined, noColour: string | undefined): string =>
  isTerminal && !noColour ? text : stripVTControlCharacters(text);

const noLines = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((name) => [name, '']),
);

/** Columns of text under their heads, without lines. Cells must be plain. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: { ...noLines, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push([...head], ...rows.map((row) => [...row]));
  const [first = '', ...rest] = table.toString().split('\n');
  return [paint('faint', first.trimEnd()), ...rest.map((line) => line.trimEnd())].join('\n');
}

/** The columns of a table: the head of each, and the field of a row or what is made of the row. */
export type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => string | null)>>;

/**
 * One line for each row; a dash stands where it has nothing. A head with UTC is over instants. Safe for a terminal. Rows that are
 * wider than `width` become a block of lines each: cut or broken ids could not be copied.
 */
export function rowsText<Row>(columns: Columns<Row>, rows: readonly Row[], width = Number.POSITIVE_INFINITY): string {
  const lines = rows.map((row) =>
    Object.entries(columns).map(([head, column]) => {
      const value = typeof column === 'function' ? column(row) : row[column];
      return head.endsWith('(UTC)') ? utc(value as string | null) : plain(String(value ?? '-'));
    }),
  );
  const heads = Object.keys(columns);
  const table = tableText(heads, lines);
  const isWide = table.split('\n').some((line) => stripVTControlCharacters(line).length > width);
  if (!isWide) return table;
  return lines.map((cells) => pairsText(cells.map((cell, at): Pair => [heads[at] ?? '', cell]))).join('\n\n');
}

/** A label and its text; a pair without a text is left out. */
export type Pair = readonly [label: string, text: string | null | undefined];

/** Pairs under each other, the texts aligned. */
export function pairsText(pairs: readonly Pair[]): string {
  const shown = pairs.filter(([, text]) => text !== null && text !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, text]) => `${paint('faint', label.padEnd(width))}  ${text}`).join('\n');
}

/** One thing: what it is, and what is known of it. */
export const cardText = (head: string, pairs: readonly Pair[]): string =>
  `${paint('strong', head)}\n${pairsText(pairs)}`;

/** The first entries of a long list as lines, and how many more there are. */
export function firstLines<Entry>(entries: readonly Entry[], most: number, toLine: (entry: Entry) => string): string[] {
  const more = entries.length - most;
  return [...entries.slice(0, most).map(toLine), ...(more > 0 ? [`and ${more} more; --json lists all`] : [])];
}
