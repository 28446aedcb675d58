import { isJsonObject, type JsonObject } from './json-object.js';

/** Deeper than anything a service would send about an order. */
const maxDepth = 32;
/** Readers in some languages take these for more than names. */
const strangeNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * Can a body be read in one way only? Not when it has a name twice in one object (RFC 8259 section 4), a name that means
 * something to some readers, or is nested deeper than 32 levels. Linear in the size of the body, whatever it holds.
 */
export function isClear(rawBody: Buffer, body: JsonObject): boolean {
  const members = countMembers(rawBody);
  return members !== null && members === countNames(body);
}

/** Members of all objects as they are written; null when nested too deep. The bytes are valid JSON. */
function countMembers(rawBody: Buffer): number | null {
  let members = 0;
  let depth = 0;
  for (let index = 0; index < rawBody.length; index += 1) {
    const byte = rawBody[index];
    if (byte === 0x22 /* " */) {
      index = endOfString(rawBody, index + 1);
    } else if (byte === 0x3a /* : */) {
      members += 1;
    } else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      depth += 1;
      if (depth > maxDepth) return null;
    } else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) {
      depth -= 1;
    }
  }
  return members;
}

function endOfString(rawBody: Buffer, from: number): number {
  let index = from;
  while (index < rawBody.length && rawBody[index] !== 0x22) index += rawBody[index] === 0x5c /* \ */ ? 2 : 1;
  return index;
}

/** Members of all objects as they were read; NaN when one of them has a strange name. */
function countNames(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countNames(one), 0);
  if (!isJsonObject(value)) return 0;
  let names = 0;
  for (const name of Object.keys(value)) names += strangeNames.has(name) ? Number.NaN : 1 + countNames(value[name]);
  return names;
}
