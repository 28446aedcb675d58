import { replaceUnshowable, shownText } from '../domain/json-text.js';

/** Text of others, fit for a terminal. */
export const plain = shownText;

/** `plain`, cut to `width` characters. */
export function clip(text: string, width: number): string {
  const characters = [...plain(text)];
  return characters.length <= width ? characters.join('') : `${characters.slice(0, width - 1).join('')}…`;
}

/** An instant in UTC to the second, without its offset: the label beside it says UTC. */
export function utc(instant: string | Date): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? plain(String(instant)) : date.toISOString().slice(0, 19).replace('T', ' ');
}

/** One line of JSON. Characters that steer a terminal are escaped, which changes nothing for a parser. */
export const toJsonLine = (value: unknown): string =>
  replaceUnshowable(JSON.stringify(value), (character) =>
    // By UTF-16 units, as JSON escapes are.
    Array.from({ length: character.length }, (_, at) => unitEscape(character.charCodeAt(at))).join(''),
  );

const unitEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

/** `plain` for text of several lines. */
export const toLines = (text: string): string => text.split(/\r?\n/).map(plain).join('\n');
