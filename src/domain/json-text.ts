/** JSON that cannot be taken. `message` says why in one line and holds no part of the text. */
export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** Deeper than anything that a caller or the service would send; our own recursion stays far below the stack. */
const maxDepth = 64;

/** Half of a surrogate pair in JSON can only come from an escape: UTF-8 holds none. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Reads JSON so that nothing in it can harm a reader further on: every text and name is well-formed Unicode (half of a surrogate
 * pair becomes U+FFFD; the SDK ends the whole worker over one), and nothing is nested deeper than 64 levels. Throws
 * `UnreadableJson`.
 */
export function readJson(text: string): unknown {
  if (isNestedDeeperThan(maxDepth, text)) throw new UnreadableJson(`nested deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UnreadableJson('not JSON'); // the platform's own message quotes the text
  }
  return surrogateEscape.test(text) ? withWellFormedTexts(value) : value;
}

/** Counts brackets outside of strings; of text that is no JSON it may say anything. */
function isNestedDeeperThan(levels: number, text: string): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x22 /* " */) {
      index += 1;
      while (index < text.length && text.charCodeAt(index) !== 0x22)
        index += text.charCodeAt(index) === 0x5c /* \ */ ? 2 : 1;
    } else if (unit === 0x7b /* { */ || unit === 0x5b /* [ */) {
      depth += 1;
      if (depth > levels) return true;
    } else if (unit === 0x7d /* } */ || unit === 0x5d /* ] */) {
      depth -= 1;
    }
  }
  return false;
}

/** The same value, in which every text and every name is well-formed. Takes plain JSON values only. */
export function withWellFormedTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(withWellFormedTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.toWellFormed(), withWellFormedTexts(one)]),
  );
}

/** Characters that steer a terminal, turn the reading direction, or that an index does not take; the service's words may hold any. */
const unshowable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A word of others, fit to be shown and indexed: one line, without control, format and direction characters. */
export const shownText = (text: string): string => text.replace(unshowable, '\uFFFD');
