import { isUtf8 } from 'node:buffer';
import { InvalidInput } from '../domain/errors.js';

/** Characters that no reader sees, or that turn the direction of what follows. */
export const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/**
 * The forms of a text that a person sees as one: as it was pasted, since some words need a joiner, and without what nobody sees, with accents
 * as one character (Unicode NFC) or as two (NFD, as macOS gives them).
 */
export function formsOf(text: string): [string, string, string] {
  const seen = text.replace(unseen, '');
  return [text, seen.normalize('NFC'), seen.normalize('NFD')];
}

/** Characters of an address: the code of a provider may have some thousand. */
const longestAddress = 8_000;

/**
 * Refuses an address or a form with what no browser sends for what people type and click: control characters, which PostgreSQL or Temporal
 * would refuse, bytes that are no UTF-8, and an address without end. Each request passes here once, so nothing behind looks for them.
 */
function checkReadable(encoded: string): void {
  if (/\p{Cc}/u.test(decoded(encoded))) throw new InvalidInput('the request must not hold control characters');
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (cause) {
    throw new InvalidInput('the request must be UTF-8', { cause });
  }
}

/** Checks the address of a request. Throws `InvalidInput`. */
export function checkAddress(url: string): void {
  if (url.length > longestAddress) throw new InvalidInput(`the address must have at most ${longestAddress} characters`);
  checkReadable(url);
}

/** Reads a form, `application/x-www-form-urlencoded`. Throws `InvalidInput`. */
export function readForm(body: Buffer): Record<string, string> {
  const text = body.toString();
  if (!isUtf8(body)) throw new InvalidInput('the request must be UTF-8');
  checkReadable(text);
  return Object.fromEntries(new URLSearchParams(text));
}
