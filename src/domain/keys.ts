import { InvalidInput } from './errors.js';

declare const brand: unique symbol;

/** The name of one set of credentials at one interface; 1 to 40 of `a-z`, `0-9`, `-`. */
export type AccountName = string & { readonly [brand]: 'AccountName' };

/** The service's id of an order, always text. It never holds a "/" and has at most 128 characters. */
export type OrderId = string & { readonly [brand]: 'OrderId' };

/** Our own id of a delivery: the first 32 hex digits of SHA-256 over account, event type and raw body. */
export type DeliveryId = string & { readonly [brand]: 'DeliveryId' };

/** Scope values joined by a space, as the token endpoint wants them; empty for the token without scope. */
export type Scope = string & { readonly [brand]: 'Scope' };

const accountNamePattern = /^[a-z0-9-]{1,40}$/;
const maxOrderIdLength = 128;

/** Reads an account name. Throws `InvalidInput` naming `field`. */
export function toAccountName(value: unknown, field = 'account'): AccountName {
  if (typeof value !== 'string' || !accountNamePattern.test(value)) {
    throw new InvalidInput(`${field}: must be 1 to 40 characters of a-z, 0-9 and "-"`);
  }
  return value as AccountName;
}

/** Reads an order id: text, or an integer that becomes text. Throws `InvalidInput` naming `field`. */
export function toOrderId(value: unknown, field = 'orderId'): OrderId {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text === '') throw new InvalidInput(`${field}: must be a non-empty text`);
  if (text.length > maxOrderIdLength)
    throw new InvalidInput(`${field}: must have at most ${maxOrderIdLength} characters`);
  // Control characters and "/" would make a workflow id that cannot be read back.
  if (/[/\p{C}]/u.test(text) || text.trim() !== text) {
    throw new InvalidInput(`${field}: must not hold "/", control characters or outer blanks`);
  }
  // No URL path can hold these two as a name.
  if (text === '.' || text === '..') throw new InvalidInput(`${field}: must not be "." or ".."`);
  return text as OrderId;
}

/** Would `toOrderId` take this text? */
export function isOrderId(text: string): text is OrderId {
  try {
    return toOrderId(text) === text;
  } catch {
    return false;
  }
}

/** Puts scope values in one order, so that one set has one spelling. */
export function toScope(values: string): Scope {
  return [...new Set(values.split(/[ +]/).filter((value) => value !== ''))].sort().join(' ') as Scope;
}
