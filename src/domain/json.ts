/** JSON that we refuse to read. `message` says why in one line and holds no part of the text. */
export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** Deeper than we expect any JSON of a caller or the service, and far below what our recursion can take. */
export const maxJsonDepth = 64;

/** Only an escape can put half of a surrogate pair into JSON: UTF-8 has no form for it. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Reads JSON into well-formed Unicode: half of a surrogate pair, which would make the SDK end the whole worker, becomes U+FFFD.
 * Throws `UnreadableJson`, also for JSON nested deeper than `levels`.
 */
export function readJson(text: string, levels = maxJsonDepth): unknown {
  const { depth } = measureJson(text);
  const tooDeep = () => new UnreadableJson(`nested deeper than ${levels} levels`);
  if (depth > deepestParsed) throw tooDeep();
  const value = parseJson(text);
  if (depth > levels) throw tooDeep();
  return inUnicode(text, value);
}

/** Node 26 damages its own memory when `JSON.parse` reads some thousand levels (seen with 26.0 to 26.10; 25 and older do not). */
export const deepestParsed = 1_000;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableJson('not JSON'); // the error of the platform quotes the text
  }
}

/** The parsed `value` of `text` with well-formed texts; copied only if the text may have half of a surrogate pair. */
export const inUnicode = (text: string, value: unknown): unknown =>
  surrogateEscape.test(text) ? withWellFormedTexts(value) : value;

/**
 * Measures a JSON text in one pass: the levels of objects and arrays, the members of all objects, and the commas between members and
 * elements. The result for text that is not JSON is arbitrary.
 */
export function measureJson(text: string): { depth: number; members: number; commas: number } {
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
