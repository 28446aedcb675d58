import { isSameId, type OrderId, orderIdIn } from '../domain/keys.js';
import { statusKey } from '../domain/order/status.js';
import type { OrderReading } from '../domain/order/trail.js';
import type { ContractProfile } from './contract-profile.js';
import { hasFlawAt, holderAt, isJsonObject, type JsonObject, ownValue, valueAt } from './json.js';
import { impersonal, type Keeping } from './kept-answer.js';
import { statusOf } from './status-words.js';
import { UnusableReply } from './unusable-reply.js';

const maxTextLength = 200;

/** A non-empty text of bounded length. A longer text is refused and not cut, since a part may mean something else. */
export const usableText = (value: unknown, maxLength: number): string | undefined =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxLength ? value : undefined;

/**
 * What a service may need of an order besides its status, unchanged; the first usable text wins. The field names of the
 * business interface are published; those under `/actual`, of the partner interface, are assumed: public clients read
 * them.
 */
const times = {
  requestedAt: ['/requested_at'],
  scheduledAt: ['/scheduled_at'],
  willArriveAtPickup: ['/will_arrive_at_pickup'],
  pickedUpAt: ['/pickedup_at'],
  droppedOffAt: ['/droppedoff_at'],
};
const supplier = { name: ['/supplier/name'], code: ['/supplier/code'] };
const driver = {
  name: ['/supplier/driver/name', '/actual/supplier/driver/driver_name'],
  phone: ['/supplier/driver/phone', '/actual/supplier/driver/driver_phone'],
  imageUrl: ['/supplier/driver/image_url'],
  rating: ['/supplier/driver/rating'],
};
const vehicle = {
  model: ['/supplier/driver/vehicle/model'],
  licensePlate: ['/supplier/driver/vehicle/license_plate', '/actual/supplier/driver/plate_number'],
};

function textsAt(order: unknown, pointers: Record<string, readonly string[]>): Record<string, string> {
  const texts = Object.entries(pointers).map(([name, places]) => [name, firstText(order, name, places)]);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

function firstText(order: unknown, name: string, places: readonly string[]): string | undefined {
  for (const place of places) {
    const value = valueAt(order, place);
    const isRating = name === 'rating' && typeof value === 'number';
    const text = usableText(isRating ? String(value) : value, maxTextLength);
    if (text !== undefined) return text;
  }
  return undefined;
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** The details in the object that holds the status; null if it has none. An order that has ended has no driver. */
function parseRideDetails(order: unknown, terminal: boolean): OrderReading['details'] {
  const parts = Object.entries({ supplier, ...(terminal ? {} : { driver, vehicle }) });
  const found = parts.map(([name, pointers]) => [name, textsAt(order, pointers)] as const);
  const details = { ...textsAt(order, times), ...Object.fromEntries(found.filter(([, texts]) => !isEmpty(texts))) };
  return isEmpty(details) ? null : details;
}

const maxStatusLength = 100;

/** The first usable status word and its pointer; undefined if the body has none. */
export function findStatus(body: unknown, pointers: readonly string[], notOrderStatus: readonly string[]) {
  for (const pointer of pointers) {
    const word = usableText(valueAt(body, pointer), maxStatusLength);
    // At `/status` the word may describe the message ("success") instead of the order.
    const isOther = (): boolean => notOrderStatus.some((other) => other.toLowerCase() === word?.toLowerCase());
    if (word !== undefined && !(pointer === '/status' && isOther())) return { word, pointer };
  }
  return undefined;
}

/** The first usable order id as text; undefined if the body has none. */
export function findOrderId(body: unknown, pointers: string[]): string | undefined {
  const values = pointers.map((pointer) => valueAt(body, pointer));
  const usable = values.find((value) => (typeof value === 'string' && value !== '') || Number.isSafeInteger(value));
  return usable === undefined ? undefined : String(usable);
}

/** Reads the answer of an order look-up at either interface.
 *  Throws `UnusableReply`: ORDER_MISMATCH if it names another order, UNREADABLE_STATUS if it has no status, or if a text with
 *  JSON in it is ambiguous or too large. */
export function parseOrderReply(
  body: unknown,
  pointers: ContractProfile['pointers']['orderStatus'],
  statuses: ContractProfile['statuses'],
  askedOrderId: OrderId,
  { keepsPersonalData = false }: Keeping = {},
): OrderReading {
  if (hasFlawAt(body, [...pointers.orderId, ...pointers.status])) throw new UnusableReply('UNREADABLE_STATUS');
  const orderId = findOrderId(body, pointers.orderId);
  if (orderId !== undefined && !isSameId(orderId, askedOrderId)) throw new UnusableReply('ORDER_MISMATCH');
  const found = findStatus(body, pointers.status, statuses.notOrderStatus);
  if (found === undefined) throw new UnusableReply('UNREADABLE_STATUS');
  const status = statusOf(found.word, statuses);
  const key = statusKey(status);
  const terminal = statuses.terminal.some((word) => statusKey(word) === key);
  const order = holderAt(body, found.pointer);
  const details = parseRideDetails(keepsPersonalData ? order : impersonal(order), terminal);
  return { rawStatus: found.word, status, terminal, details };
}

/** In characters. A receipt has a few dozen fields. A far bigger answer is not a receipt, and Temporal would have to keep it. */
const maxReceiptLength = 65_536;

/**
 * Reads the answer of the receipt call (published): an object. Undefined for anything else. Where personal data may be kept, it is kept
 * unchanged, otherwise the fields that we know of a receipt; amounts may be numbers or text.
 */
export function parseReceiptReply(body: unknown, { keepsPersonalData = false }: Keeping = {}): JsonObject | undefined {
  if (!isJsonObject(body) || JSON.stringify(body).length > maxReceiptLength) return undefined;
  return keepsPersonalData ? body : (impersonal(body) as JsonObject);
}

/** The order id in the answer to a create; undefined if it has no usable one. */
export function findCreatedOrder(body: unknown, { createOrder }: ContractProfile['pointers']): OrderId | undefined {
  const orderId = findOrderId(body, createOrder.orderId);
  return orderId === undefined ? undefined : orderIdIn(orderId);
}

type OrderProfile = Pick<ContractProfile, 'pointers' | 'statuses'>;

const statusIn = (body: unknown, { pointers, statuses }: OrderProfile) =>
  findStatus(body, pointers.orderDetails.status, statuses.notOrderStatus);

/** Does the order show that the service has carried out a cancellation? */
export function isCancelled(body: unknown, profile: OrderProfile): boolean {
  const status = statusIn(body, profile);
  return status !== undefined && statusOf(status.word, profile.statuses) === 'Cancelled';
}

/** Does the order have every field as the change requested? */
export function isChanged(body: unknown, wanted: unknown, profile: OrderProfile): boolean {
  const status = statusIn(body, profile);
  return status !== undefined && holds(holderAt(body, status.pointer), wanted);
}

function holds(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((item, index) => holds(actual[index], item))
    );
  }
  if (isJsonObject(wanted)) {
    return Object.entries(wanted).every(([field, value]) => holds(ownValue(actual, field), value));
  }
  return actual === wanted || isSameInstant(actual, wanted);
}

const isSameInstant = (one: unknown, other: unknown): boolean =>
  [one, other].every((value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) &&
  Date.parse(String(one)) === Date.parse(String(other));
