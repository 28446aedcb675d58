/** JSON that cannot be taken. `message` says why in one line and holds no part of the text. */
export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** Deeper than anything that a caller or the service would send; our own recursion stays far below the stack. */
export const maxJsonDepth = 64;

/** Half of a surrogate pair in JSON can only come from an escape: UTF-8 holds none. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Reads JSON so that nothing in it can harm a reader further on: every text and name is well-formed Unicode (half of a surrogate
 * pair becomes U+FFFD; the SDK ends the whole worker over one), and nothing is nested deeper than `levels`. Throws
 * `UnreadableJson`.
 */
export function readJson(text: string, levels = maxJsonDepth): unknown {
  const value = parseJson(text);
  if (measureJson(text).depth > levels) throw new UnreadableJson(`nested deeper than ${levels} levels`);
  return inUnicode(text, value);
}

/** `JSON.parse`, which takes any depth, without an error that quotes the text. Throws `UnreadableJson`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableJson('not JSON');
  }
}

/** What `text` was read as, in well-formed texts; looked through only where the text has half of a surrogate pair. */
export const inUnicode = (text: string, value: unknown): unknown =>
  surrogateEscape.test(text) ? withWellFormedTexts(value) : value;

/** How large a JSON text is, before anything looks into what it was read as. */
interface JsonMeasure {
  /** Levels of objects and arrays. */
  depth: number;
  /** Members of all objects, as they are written. */
  members: number;
  /** What separates members and elements, so one less than there are in each object and array. */
  commas: number;
}

/** Counts outside of strings, in one pass; of text that is no JSON it may say anything. */
export function measureJson(text: string): JsonMeasure {
  let level = 0;
  const measure = { depth: 0, members: 0, commas: 0 };
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x22 /* " */) index = endOfString(text, index + 1);
    else if (unit === 0x3a /* : */) measure.members += 1;
    else if (unit === 0x2c /* , */) measure.commas += 1;
    else if (unit === 0x7b /* { */ || unit === 0x5b /* [ */) {
      level += 1;
      if (level > measure.depth) measure.depth = level;
    } else if (unit === 0x7d /* } */ || unit === 0x5d /* ] */) level -= 1;
  }
  return measure;
}

function endOfString(text: string, from: number): number {
  let index = from;
  while (index < text.length && text.charCodeAt(index) !== 0x22) {
    index += text.charCodeAt(index) === 0x5c /* \ */ ? 2 : 1;
  }
  return index;
}

/** The same value, in which every text and every name is well-formed. Takes plain JSON values only. */
function withWellFormedTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(withWellFormedTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.toWellFormed(), withWellFormedTexts(one)]),
  );
}

/** Replaces each character that steers a terminal, turns the reading direction, or that an index does not take. */
export const replaceUnshowable = (text: string, by: (character: string) => string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, by);

/** A word of others, fit to be shown and indexed: one line, without control, format and direction characters. */
export const shownText = (text: string): string => replaceUnshowable(text, () => '\uFFFD');

/**
 * The JSON of any value, such that `readJson` with the same `levels` takes it: the same text as `JSON.stringify` wherever that
 * has one. Elsewhere a BigInt becomes text, and null stands for what has no JSON, for what comes again and for what is nested deeper.
 */
export function writeJson(value: unknown, levels: number): string {
  const json = jsonOf(value);
  if (json === undefined || measureJson(json).depth > levels)
    return writeJson(toPlain(value, levels, new Set()), levels);
  return surrogateEscape.test(json) ? JSON.stringify(withWellFormedTexts(JSON.parse(json))) : json;
}

/** Undefined: there is none. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // a cycle, a BigInt, a getter that throws, or deeper than the stack
  }
}

function toPlain(value: unknown, levels: number, seen: Set<object>): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return isJsonWord(value) ? value : null;
  if (value === null || levels === 0 || seen.has(value)) return null;
  seen.add(value);
  const read = (name: string): unknown => {
    try {
      return toPlain((value as Record<string, unknown>)[name], levels - 1, seen);
    } catch {
      return null;
    }
  };
  if (Array.isArray(value)) return Array.from(value, (_, index) => read(String(index)));
  return Object.fromEntries(namesOf(value).map((name) => [name, read(name)]));
}

const isJsonWord = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

function namesOf(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return []; // a proxy may refuse
  }
}
