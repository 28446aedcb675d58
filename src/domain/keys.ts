import { readInput } from './input-fields.js';
import * as s from './schema.js';

declare const brand: unique symbol;

/** The name of one set of credentials at one interface; 1 to 40 of `a-z`, `0-9`, `-`. */
export type AccountName = string & { readonly [brand]: 'AccountName' };

/** The service's id of an order, always text, a UUID in lower case. We take none with a "/" or more than 128 characters. */
export type OrderId = string & { readonly [brand]: 'OrderId' };

/** Our own id of a delivery: the first 32 hex digits of SHA-256 over account, event type and raw body. */
export type DeliveryId = string & { readonly [brand]: 'DeliveryId' };

/** Scope values joined by a space, as the token endpoint expects them; empty for the unscoped token. */
export type Scope = string & { readonly [brand]: 'Scope' };

/** The field `account`. */
export const AccountNameSchema = s.described(
  s.matching(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 characters of a-z, 0-9 and "-"') as s.Schema<AccountName, string>,
  'Name of an account that the workers hold.',
);

/** Reads an account name. Throws `InvalidInput` naming `field`. */
export const toAccountName = (value: unknown, field = 'account'): AccountName =>
  readInput(AccountNameSchema, value, field);

/** RFC 9562 section 4: a UUID is read in any case, and written in lower case. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The one rule for what makes two ids of the service the same: the same text, or the same UUID. */
export const oneSpelling = (id: string): string => (uuid.test(id) ? id.toLowerCase() : id);

/** Are these ids of the service the same? */
export const isSameId = (one: string, other: string): boolean => oneSpelling(one) === oneSpelling(other);

/** How releases up to 0.2.0 may have spelled this id: as it came, which of UUIDs means lower case or capitals. */
export const spellingsOf = (id: string): string[] =>
  uuid.test(id) ? [...new Set([id.toLowerCase(), id.toUpperCase()])] : [id];

const maxOrderIdLength = 128;

/** The service's id of an order: text, or an integer that becomes text. */
export const OrderIdSchema: s.Schema<OrderId, string | number> = {
  read: (value, at) => {
    const text = Number.isSafeInteger(value) ? String(value) : value;
    if (typeof text !== 'string' || text === '') return s.refuse(at, 'must be a non-empty text');
    if (text.length > maxOrderIdLength) return s.refuse(at, `must have at most ${maxOrderIdLength} characters`);
    // Control characters and "/" would make a workflow id that cannot be read back.
    if (/[/\p{C}]/u.test(text) || text.trim() !== text)
      return s.refuse(at, 'must not hold "/", control characters or outer blanks');
    // A URL path cannot hold these two as a name.
    return text === '.' || text === '..' ? s.refuse(at, 'must not be "." or ".."') : (oneSpelling(text) as OrderId);
  },
  json: {
    anyOf: [
      { type: 'string', minLength: 1, maxLength: maxOrderIdLength, pattern: '^[^/\\x00-\\x1f\\x7f-\\x9f]+$' },
      { type: 'integer' },
    ],
    description: "The service's id of the order, without a slash.",
  },
};

/** Reads an order id: text, or an integer that becomes text. Throws `InvalidInput` naming `field`. */
export const toOrderId = (value: unknown, field = 'orderId'): OrderId => readInput(OrderIdSchema, value, field);

/** The order id in a text; undefined: it can be none. */
export const orderIdIn = (text: string): OrderId | undefined => s.readOr(OrderIdSchema, text, undefined);

/** Sorts scope values, so that one set has one spelling. */
export function toScope(values: string): Scope {
  return [...new Set(values.split(/[ +]/).filter((value) => value !== ''))].sort().join(' ') as Scope;
}
