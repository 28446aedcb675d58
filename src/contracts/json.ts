import { deepestParsed, maxJsonDepth, measureJson, parseMeasured } from '../domain/json.js';
import { shares } from '../domain/shares.js';

/** A JSON object, as opposed to an array, a scalar or null. */
export type JsonObject = Record<string, unknown>;

/** Is this a JSON object? */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of an own property of an object; undefined for anything else, inherited names included. */
export const ownValue = (value: unknown, key: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

// RFC 6901 section 4: digits without a leading zero; "-" names the element after the last, which no reader can have.
const arrayIndex = /^(0|[1-9]\d*)$/;

function childOf(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return arrayIndex.test(token) ? parent[Number(token)] : undefined;
  return ownValue(parent, token);
}

// Splitting all pointers of a profile for each delivery would take longer than parsing its body. The profile bounds their number.
const tokensByPointer = new Map<string, readonly string[] | null>();

/** The names on the way of a JSON pointer (RFC 6901); null for text that is no pointer. */
export function pointerTokens(pointer: string): readonly string[] | null {
  const known = tokensByPointer.get(pointer);
  if (known !== undefined) return known;
  const isPointer = pointer === '' || (pointer.startsWith('/') && !/~(?![01])/.test(pointer));
  const tokens = isPointer ? pointer.split('/').slice(1).map(unescaped) : null;
  tokensByPointer.set(pointer, tokens);
  return tokens;
}

/** What the way of a pointer ends at. */
interface Place {
  /** The object or array that holds the value. */
  holder: unknown;
  value: unknown;
  /** Why a text on the way cannot be used; then there is no value. */
  flaw: JsonFlaw | null;
}

/** JSON in a text that JSON in a text holds: message services pack no deeper. */
export const mostTexts = 2;

/** Follows a JSON pointer (RFC 6901) through own properties only, and through texts that hold an object or a list. */
function follow(document: unknown, pointer: string): Place {
  const tokens = pointerTokens(pointer);
  if (tokens === null) return { holder: undefined, value: undefined, flaw: null };
  let place: Place = { holder: undefined, value: document, flaw: null };
  let texts = 0;
  for (const [index, token] of tokens.entries()) {
    if (typeof place.value === 'string') {
      texts += 1;
      const inside = texts > mostTexts ? undefined : insideOf(place.holder, tokens[index - 1] ?? '', place.value);
      if (inside === undefined || inside.flaw !== null)
        return { holder: undefined, value: undefined, flaw: inside?.flaw ?? null };
      place = { holder: place.holder, value: inside.value, flaw: null };
    }
    place = { holder: place.value, value: childOf(place.value, token), flaw: null };
  }
  return place;
}

/**
 * The value at a JSON pointer (RFC 6901); undefined if it leads nowhere or is not a pointer. It steps into a text that holds a JSON object or
 * array, also in base64, at most two deep. A text with a flaw leads nowhere.
 */
export const valueAt = (document: unknown, pointer: string): unknown => follow(document, pointer).value;

/** The object or array that holds the value at a pointer. */
export const holderAt = (document: unknown, pointer: string): unknown => follow(document, pointer).holder;

/** Does one of these pointers step into a text with a flaw? Then the whole body counts as one with that flaw. */
export const hasFlawAt = (document: unknown, pointers: readonly string[]): boolean =>
  pointers.some((pointer) => follow(document, pointer).flaw !== null);

/** The pointer to the object or array that holds the value at `pointer`. */
export const parentPointer = (pointer: string): string => pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));

/** Why incoming JSON cannot be used: its meaning is unclear, or it is too large. */
export type JsonFlaw =
  /** Nested deeper than 64 levels. */
  | 'TOO_DEEP'
  /** More members and elements, or more long numbers, than its reader takes. */
  | 'TOO_MANY'
  /** A name twice in one object (RFC 8259 section 4), or a name that means something to some readers. */
  | 'AMBIGUOUS'
  /** A text with more than 256 KiB of JSON in it. */
  | 'TOO_LARGE';

/** JSON of the service. All texts in `value` are well-formed Unicode, and numbers that would lose digits are texts. */
interface IncomingJson {
  value: unknown;
  /** Null: the JSON has only one meaning. */
  flaw: JsonFlaw | null;
}

/** How much JSON a reader takes. */
export type JsonLimits = Readonly<Record<'items' | 'longNumbers', number>>;

/** More than we expect of any answer of the service. Each item costs memory, in the process and in Temporal. */
const answerLimits: JsonLimits = { items: 100_000, longNumbers: 100_000 };
/** Names with a special meaning in some languages. */
const strangeNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

// Both decoders skip a byte order mark, as RFC 8259 section 8.1 allows.
const lenient = new TextDecoder('utf-8');
const strict = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads JSON of the service: answers and deliveries. Undefined for anything that is not JSON. Bytes that are not UTF-8 become
 * U+FFFD; with `mustBeUtf8` they count as not JSON. What is far too deep to parse reads as empty. The time is linear in the number
 * of bytes, and for bytes beyond the limits it is that of `JSON.parse`.
 */
export function readIncomingJson(
  bytes: Uint8Array,
  { mustBeUtf8 = false, limits = answerLimits }: { mustBeUtf8?: boolean; limits?: JsonLimits } = {},
): IncomingJson | undefined {
  try {
    return readText((mustBeUtf8 ? strict : lenient).decode(bytes), limits);
  } catch {
    return undefined; // not UTF-8, or not JSON
  }
}

function readText(text: string, limits: JsonLimits): IncomingJson {
  const measure = measureJson(text);
  const { depth, members, commas, longNumbers } = measure;
  // No parser has said that it is JSON, but its sender meant it to be.
  if (depth > deepestParsed) return { value: text.trimStart().startsWith('{') ? {} : [], flaw: 'TOO_DEEP' };
  if (Math.max(members, commas) > limits.items || longNumbers.length > limits.longNumbers)
    return { value: parseMeasured(text, { ...measure, longNumbers: [] }), flaw: 'TOO_MANY' };
  const value = parseMeasured(text, measure);
  if (depth > maxJsonDepth) return { value, flaw: 'TOO_DEEP' };
  // `JSON.parse` keeps a repeated name once, so the counts differ.
  return { value, flaw: countNames(value) === members ? null : 'AMBIGUOUS' };
}

/** In bytes. A delivery is smaller unless the setting allows more. */
const mostInside = 256 * 1024;
const beginsAsJson = /^\s*[{[]/;
/** RFC 4648 sections 4 and 5, with or without padding. */
const base64 = /^(?:[A-Za-z\d+/]+|[\w-]+)={0,2}$/;

/** The JSON object or array that a text holds, as it is or in base64; undefined for any other text. */
export function jsonInside(text: string): IncomingJson | undefined {
  const isPlain = beginsAsJson.test(text);
  if (!isPlain && !base64.test(text)) return undefined;
  const bytes = Buffer.from(text, isPlain ? 'utf8' : 'base64');
  if (!isPlain && !beginsAsJson.test(bytes.subarray(0, 100).toString('latin1'))) return undefined;
  if (bytes.length > mostInside) return { value: undefined, flaw: 'TOO_LARGE' };
  return readIncomingJson(bytes, { mustBeUtf8: true, limits: shares.body });
}

/** For each object and array: what its texts hold, by name. Only where a pointer has stepped into a text. */
const insides = new WeakMap<object, Map<string, IncomingJson | undefined>>();

/** The same, parsed once however many pointers step there. Undefined for a body that is a text itself. */
function insideOf(holder: unknown, name: string, text: string): IncomingJson | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined;
  const known = insides.get(holder) ?? new Map<string, IncomingJson | undefined>();
  insides.set(holder, known);
  if (!known.has(name)) known.set(name, jsonInside(text));
  return known.get(name);
}

/** The number of members in all objects; NaN if one has a strange name. */
function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countNames(one), 0);
  if (!isJsonObject(value)) return 0;
  let names = 0;
  for (const name of Object.keys(value)) names += strangeNames.has(name) ? Number.NaN : 1 + countNames(value[name]);
  return names;
}
