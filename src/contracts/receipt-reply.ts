import { isJsonObject, type JsonObject } from './json-object.js';

/** In characters. A receipt has a few dozen fields; a far bigger answer is none, and Temporal would have to keep it. */
const maxReceiptLength = 65_536;

/** Reads the answer of the receipt call (assumed, upstream section 5.3): an object, kept as it came, since amounts may be
 *  numbers or text and more fields may come. Undefined for anything else. */
export function parseReceiptReply(body: unknown): JsonObject | undefined {
  if (!isJsonObject(body)) return undefined;
  return JSON.stringify(body).length <= maxReceiptLength ? body : undefined;
}
