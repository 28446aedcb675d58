import { inUnicode, maxJsonDepth, measureJson, parseJson, UnreadableJson } from '../domain/json.js';

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

/** Follows a JSON pointer (RFC 6901) through own properties only; undefined where it leads nowhere or is no pointer. */
export function valueAt(document: unknown, pointer: string): unknown {
  if (pointer === '') return document;
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer.slice(1).split('/').map(unescaped).reduce(childOf, document);
}

/** The pointer to the object or array that holds what `pointer` names. */
export const parentPointer = (pointer: string): string => pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));

/** Why JSON that came over the network cannot be taken for what its sender meant. */
export type JsonFlaw =
  /** Nested deeper than 64 levels. */
  | 'TOO_DEEP'
  /** More than 100,000 members and elements. */
  | 'TOO_MANY'
  /** A name twice in one object (RFC 8259 section 4), or a name that means something to some readers. */
  | 'AMBIGUOUS';

/** JSON of the service. `value` holds well-formed texts alone unless it is too large to be looked through. */
interface IncomingJson {
  value: unknown;
  /** Null: it can be read in one way only. */
  flaw: JsonFlaw | null;
}

/** More than any answer of the service has; each costs memory, here and in Temporal. */
const maxItems = 100_000;
/** Readers in some languages take these for more than names. */
const strangeNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

// A byte order mark is passed over (RFC 8259 section 8.1 lets a reader do so).
const lenient = new TextDecoder('utf-8');
const strict = new TextDecoder('utf-8', { fatal: true });

/**
 * The one way in for JSON of the service: answers and deliveries. Undefined for what is no JSON. Bytes that are no UTF-8 become
 * U+FFFD, or with `mustBeUtf8` are no JSON. Takes time in proportion to the bytes, whatever they hold.
 */
export function readIncomingJson(bytes: Uint8Array, { mustBeUtf8 = false } = {}): IncomingJson | undefined {
  const text = decoded(bytes, mustBeUtf8);
  const parsed = text === undefined ? undefined : parsedOrNone(text);
  if (text === undefined || parsed === undefined) return undefined;
  const { depth, members, commas } = measureJson(text);
  if (depth > maxJsonDepth) return { value: parsed, flaw: 'TOO_DEEP' };
  if (members > maxItems || commas > maxItems) return { value: parsed, flaw: 'TOO_MANY' };
  const value = inUnicode(text, parsed);
  // A name that came twice was read once.
  return { value, flaw: countNames(value) === members ? null : 'AMBIGUOUS' };
}

function decoded(bytes: Uint8Array, mustBeUtf8: boolean): string | undefined {
  try {
    return (mustBeUtf8 ? strict : lenient).decode(bytes);
  } catch {
    return undefined;
  }
}

function parsedOrNone(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof UnreadableJson) return undefined;
    throw error;
  }
}

/** Members of all objects as they were read; NaN when one of them has a strange name. */
function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countNames(one), 0);
  if (!isJsonObject(value)) return 0;
  let names = 0;
  for (const name of Object.keys(value)) names += strangeNames.has(name) ? Number.NaN : 1 + countNames(value[name]);
  return names;
}
