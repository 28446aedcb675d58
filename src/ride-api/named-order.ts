import type { ContractProfile } from '../contracts/contract-profile.js';
import { findCreatedOrder } from '../contracts/order-reply.js';
import { type OrderId, orderIdIn } from '../domain/keys.js';
import type { ApiReply } from './http.js';

/** Places of an order id in an error body (assumed; no page of the service shows one). */
const errorPlaces = [
  '/error/order_id',
  '/error/details/order_id',
  '/error/order/id',
  '/details/order_id',
  '/errors/0/order_id',
];

/**
 * An order that an answer to a create names although it is not the success asked for: in its body, or as the last part
 * of `Location` (RFC 9110 section 10.2.2) on the same origin. It may be somebody else's order, so a person decides
 * about it.
 */
export function namedOrderOf(
  { body, headers }: ApiReply,
  url: string,
  pointers: ContractProfile['pointers'],
): OrderId | undefined {
  const errorPointers = { ...pointers, createOrder: { orderId: errorPlaces } };
  return findCreatedOrder(body, pointers) ?? findCreatedOrder(body, errorPointers) ?? orderAt(headers.location, url);
}

/**
 * The order that a successful create made. Of a 201 alone `Location` says which (RFC 9110 section 15.3.2); other
 * successes may mean another resource by it.
 */
export const createdOrderOf = (
  { status, body, headers }: ApiReply,
  url: string,
  pointers: ContractProfile['pointers'],
): OrderId | undefined =>
  findCreatedOrder(body, pointers) ?? (status === 201 ? orderAt(headers.location, url) : undefined);

function orderAt(location: string | undefined, url: string): OrderId | undefined {
  if (location === undefined || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  if (target.origin !== new URL(url).origin) return undefined;
  const parts = partsOf(target.pathname);
  const createParts = partsOf(new URL(url).pathname);
  // Behind a gateway the service may know a shorter path. Any other path that is no longer than that of the create is
  // some page, such as a sign-in.
  const isBelowOrders = parts.length > 1 && parts.at(-2) === createParts.at(-1);
  if (parts.length <= createParts.length && !isBelowOrders) return undefined;
  return orderIdIn(parts.at(-1) ?? '');
}

const partsOf = (path: string): string[] =>
  path
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return ''; // no percent-encoding of a text
  }
}
