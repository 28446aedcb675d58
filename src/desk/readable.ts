import { isUtf8 } from 'node:buffer';
import { InvalidInput } from '../domain/errors.js';

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
