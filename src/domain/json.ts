/** JSON that we refuse to read. `message` says why in one line and holds no part of the text. */
export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** Deeper than we expect any JSON of a caller or the service, and far below what our recursion can take. */
export const maxJsonDepth = 64;

/** Only an escape can put half of a surrogate pair into JSON: UTF-8 has no form for it. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Reads JSON as `parseMeasured` does. Throws `UnreadableJson`, also for JSON nested deeper than `levels`. */
export function readJson(text: string, levels = maxJsonDepth): unknown {
  const measure = measureJson(text);
  if (measure.depth > levels) throw new UnreadableJson(`nested deeper than ${levels} levels`);
  try {
    return parseMeasured(text, measure);
  } catch {
    throw new UnreadableJson('not JSON'); // the error of the platform quotes the text
  }
}

/** Node 26 damages its own memory when `JSON.parse` reads some thousand levels (seen with 26.0 to 26.10; 25 and older do not). */
export const deepestParsed = 1_000;

/**
 * Parses a JSON text as `JSON.parse` does, but for two things. A number stays a number unless it is written in digits alone and beyond 2^53, or
 * beyond 2^32 with a fraction or an exponent and more digits than JavaScript keeps; then it is the text of its digits as they stand. And half
 * of a surrogate pair, which would make the SDK end the whole worker, becomes U+FFFD. Throws what `JSON.parse` throws.
 */
export function parseMeasured(text: string, { longNumbers }: JsonMeasure): unknown {
  const parsed = inUnicode(text, JSON.parse(text)); // it decides what is JSON: below, each number is one
  if (longNumbers.length === 0) return parsed;
  const value = inUnicode(text, JSON.parse(withQuotedNumbers(text, longNumbers)));
  noteTexts(parsed, value);
  return value;
}

/** The parsed `value` of `text` with well-formed texts; copied only if the text may have half of a surrogate pair. */
const inUnicode = (text: string, value: unknown): unknown =>
  surrogateEscape.test(text) ? withWellFormedTexts(value) : value;

function withQuotedNumbers(text: string, numbers: JsonMeasure['longNumbers']): string {
  let done = 0;
  const pieces = numbers.flatMap(([from, to]) => {
    const before = text.slice(done, from);
    done = to;
    return [before, '"', text.slice(from, to), '"'];
  });
  return pieces.join('') + text.slice(done);
}

/** A double keeps any so many digits. */
const mostDigits = 15;
/** At most 15, beside the zeros at both ends. Takes linear time. */
const hasFewDigits = /^[0.]*(?:[1-9](?:\.?\d){0,14}[0.]*)?(?:[eE]|$)/;

/** Does JavaScript keep this number of a JSON text? */
function isKept(written: string): boolean {
  const number = Number(written);
  if (number < 2 ** 32) return true; // there, neighbours are less than a millionth apart
  // One type for ids beyond 2^53, whether or not one happens to lose no digit.
  if (!/[.eE]/.test(written)) return number <= Number.MAX_SAFE_INTEGER;
  return Number.isFinite(number) && (hasFewDigits.test(written) || String(number) === written);
}

/** For each object and array that was read: the names of its numbers that became texts. */
const textsOfNumbers = new WeakMap<object, Set<string>>();

/** `exact` has a text wherever `parsed` has a number that would lose digits; all else is the same. */
function noteTexts(parsed: unknown, exact: unknown): void {
  if (typeof exact !== 'object' || exact === null) return;
  for (const [name, value] of Object.entries(exact)) {
    const before = (parsed as Record<string, unknown>)[name];
    if (typeof before !== 'number') noteTexts(before, value);
    else if (typeof value === 'string')
      textsOfNumbers.set(exact, (textsOfNumbers.get(exact) ?? new Set<string>()).add(name));
  }
}

/**
 * Where a value that was read or made in JavaScript has a number that would not be sent as its author wrote it: a text such as `.stops[0].id`;
 * undefined for nowhere.
 */
export function placeOfLongNumber(value: unknown): string | undefined {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? undefined : ''; // nor NaN
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, one] of Object.entries(value)) {
    const place = textsOfNumbers.get(value)?.has(name) ? '' : placeOfLongNumber(one);
    if (place !== undefined) return `${Array.isArray(value) ? `[${name}]` : `.${name}`}${place}`;
  }
  return undefined;
}

/** What one pass over a JSON text finds. */
export interface JsonMeasure {
  /** The levels of objects and arrays. */
  depth: number;
  /** The members of all objects. */
  members: number;
  /** The commas between members and elements. */
  commas: number;
  /** Where the numbers stand that would lose digits. */
  longNumbers: [from: number, to: number][];
}

/** Measures a JSON text in one pass. The result for text that is not JSON is arbitrary. */
export function measureJson(text: string): JsonMeasure {
  let [level, depth, members, commas] = [0, 0, 0, 0];
  const longNumbers: JsonMeasure['longNumbers'] = [];
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x22 /* " */) index = endOfString(text, index + 1);
    else if (unit === 0x3a /* : */) members += 1;
    else if (unit === 0x2c /* , */) commas += 1;
    else if (unit === 0x7b /* { */ || unit === 0x5b /* [ */) {
      level += 1;
      if (level > depth) depth = level;
    } else if (unit === 0x7d /* } */ || unit === 0x5d /* ] */) level -= 1;
    else if (isDigitOrPoint(unit)) {
      const mantissa = endOfDigits(text, index);
      const end = (text.charCodeAt(mantissa) | 0x20) === 0x65 /* e, E */ ? endOfDigits(text, mantissa + 2) : mantissa;
      const mayChange = mantissa - index > mostDigits || end > mantissa;
      if (mayChange && !isKept(text.slice(index, end)))
        longNumbers.push([text.charCodeAt(index - 1) === 0x2d /* - */ ? index - 1 : index, end]);
      index = end - 1;
    }
  }
  return { depth, members, commas, longNumbers };
}

/** Behind the digits and points from here on. */
function endOfDigits(text: string, from: number): number {
  let index = from;
  while (isDigitOrPoint(text.charCodeAt(index))) index += 1;
  return index;
}

const isDigitOrPoint = (unit: number): boolean => (unit >= 0x30 && unit <= 0x39) || unit === 0x2e;

function endOfString(text: string, from: number): number {
  let quote = text.indexOf('"', from); // faster than our own loop over the text
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote;
}

/** Is there an odd number of backslashes before this quote of a string? Takes linear time: each backslash precedes one quote. */
function isEscaped(text: string, quote: number): boolean {
  let index = quote;
  while (text.charCodeAt(index - 1) === 0x5c /* \ */) index -= 1; // the opening quote ends it
  return (quote - index) % 2 === 1;
}

/** A copy of a JSON value in which every text and every name is well-formed. */
function withWellFormedTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(withWellFormedTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.toWellFormed(), withWellFormedTexts(one)]),
  );
}

/** Replaces each character that controls a terminal, changes the reading direction, or that an index refuses. */
export const replaceUnshowable = (text: string, by: (character: string) => string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, by);

/** A text of another program made safe to show and to index: one line, without control, format and direction characters. */
export const shownText = (text: string): string => replaceUnshowable(text, () => '\uFFFD');
