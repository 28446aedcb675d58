import type { OrderId } from '../domain/keys.js';
import type { OrderReading } from '../domain/observation.js';
import { statusKey, toRideStatus } from '../domain/ride-status.js';
import type { ContractProfile } from './contract-profile.js';
import { parentPointer, valueAt } from './json-pointer.js';
import { type Keeping, parseRideDetails, usableText } from './ride-details.js';
import { UnusableReply } from './unusable-reply.js';

/** Where in a reply status and order id may stand, the first usable value wins. */
export type OrderPointers = ContractProfile['pointers']['orderStatus'];

const maxStatusLength = 100;

/** The first usable status word and where it stood; undefined when there is none. */
export function findStatus(body: unknown, pointers: string[], notOrderStatus: string[]) {
  const skipped = new Set(notOrderStatus.map((word) => word.toLowerCase()));
  for (const pointer of pointers) {
    const word = usableText(valueAt(body, pointer), maxStatusLength);
    // There the word may speak of the answer ("success") instead of the order.
    const speaksOfAnswer = pointer === '/status' && word !== undefined && skipped.has(word.toLowerCase());
    if (word !== undefined && !speaksOfAnswer) return { word, pointer };
  }
  return undefined;
}

/** The first usable order id as text; undefined when there is none. */
export function findOrderId(body: unknown, pointers: string[]): string | undefined {
  const values = pointers.map((pointer) => valueAt(body, pointer));
  const usable = values.find((value) => (typeof value === 'string' && value !== '') || Number.isSafeInteger(value));
  return usable === undefined ? undefined : String(usable);
}

/** Reads what an order look-up returned, at either interface (upstream section 4).
 *  Throws `UnusableReply`: ORDER_MISMATCH when it names another order, UNREADABLE_STATUS when no status is found. */
export function parseOrderReply(
  body: unknown,
  pointers: OrderPointers,
  statuses: ContractProfile['statuses'],
  askedOrderId: OrderId,
  keeping?: Keeping,
): OrderReading {
  const orderId = findOrderId(body, pointers.orderId);
  if (orderId !== undefined && orderId !== askedOrderId) throw new UnusableReply('ORDER_MISMATCH');
  const found = findStatus(body, pointers.status, statuses.notOrderStatus);
  if (found === undefined) throw new UnusableReply('UNREADABLE_STATUS');
  const key = statusKey(found.word);
  return {
    rawStatus: found.word,
    status: toRideStatus(found.word),
    terminal: statuses.terminal.some((word) => statusKey(word) === key),
    details: parseRideDetails(valueAt(body, parentPointer(found.pointer)), keeping),
  };
}
