import { isOrderId, type OrderId } from '../domain/keys.js';
import type { ContractProfile } from './contract-profile.js';
import { valueAt } from './json.js';
import { findOrderId, usableText } from './order-reply.js';
import { UnusableReply } from './unusable-reply.js';

/** Longer than any request id of ours. */
const maxRequestIdLength = 200;

/** The request id that an order or a delivery names, as it came; undefined if it names none. */
export function findRequestId(body: unknown, pointers: readonly string[]): string | undefined {
  const texts = pointers.map((pointer) => usableText(valueAt(body, pointer), maxRequestIdLength));
  return texts.find((text) => text !== undefined);
}

/** Does the order itself name the request that made it? A delivery that says so proves nothing. */
export function isMadeBy(
  body: unknown,
  { orderId, requestId }: { orderId: OrderId; requestId: string },
  pointers: ContractProfile['pointers']['orderDetails'],
): boolean {
  const named = findOrderId(body, pointers.orderId);
  return (named === undefined || named === orderId) && findRequestId(body, pointers.requestId) === requestId;
}

/** What a search by request id shows. Only `order` proves something; `none` does not prove that there is no order. */
export type Searched =
  | { kind: 'order'; orderId: OrderId; order: unknown }
  | { kind: 'none' }
  /** The answer is a part of a longer list, or may be one. */
  | { kind: 'incomplete' }
  /** The order has no usable order id. */
  | { kind: 'nameless' }
  | { kind: 'several'; orderIds: string[] };

/** A search for one request id has few results. More mean that the service does not search for it. */
const maxEntries = 100;

/** Reads the answer to a search. Exactly one order must name exactly this request id. Throws `UnusableReply` NO_LIST. */
export function readSearch(
  body: unknown,
  requestId: string,
  pointers: ContractProfile['pointers']['findOrder'],
): Searched {
  const list = pointers.list.map((pointer) => valueAt(body, pointer)).find(Array.isArray);
  if (list === undefined) throw new UnusableReply('NO_LIST');
  const matches = list.filter((entry) => findRequestId(entry, pointers.requestId) === requestId);
  const ids = matches.map((entry) => findOrderId(entry, pointers.orderId));
  if (matches.length > 1) return { kind: 'several', orderIds: ids.map((id) => id ?? 'without an id') };
  if (list.length > maxEntries || tellsOfMore(body, list)) return { kind: 'incomplete' };
  if (matches.length === 0) return { kind: 'none' };
  const [orderId] = ids;
  const isUsable = orderId !== undefined && isOrderId(orderId);
  return isUsable ? { kind: 'order', orderId, order: matches[0] } : { kind: 'nameless' };
}

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);

const isNothing = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : !value;

/** Does a word of this name, with this value, say that the list goes on? The names are assumed. */
const hints: Readonly<Record<string, (value: unknown, length: number) => boolean>> = {
  ...Object.fromEntries(['next', 'more', 'cursor', 'continuation'].map((word) => [word, (value) => !isNothing(value)])),
  ...Object.fromEntries(['total', 'count'].map((word) => [word, (value, length) => Number(value) > length])),
  pages: (value) => Number(value) > 1,
};

/** Does anything beside the list say that it is a part of a longer one? */
function tellsOfMore(value: unknown, list: readonly unknown[]): boolean {
  if (value === list || typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, inner]) =>
      wordsOf(name).some((word) => Object.hasOwn(hints, word) && hints[word]?.(inner, list.length)) ||
      tellsOfMore(inner, list),
  );
}
