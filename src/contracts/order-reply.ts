import type { OrderId } from '../domain/keys.js';
import { statusKey, toRideStatus } from '../domain/order/status.js';
import type { OrderReading } from '../domain/order/trail.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, type JsonObject, parentPointer, valueAt } from './json.js';
import { UnusableReply } from './unusable-reply.js';

/** What a service may want of an order besides its status. `driver` and the plate are personal data, and only there where
 *  they may be kept. Texts as they came; the spelling on the wire is assumed. */
type RideDetails = {
  requestedAt?: string;
  scheduledAt?: string;
  willArriveAtPickup?: string;
  pickedUpAt?: string;
  droppedOffAt?: string;
  supplier?: { name?: string; code?: string };
  driver?: { name?: string; phone?: string; imageUrl?: string };
  vehicle?: { model?: string; licensePlate?: string };
};

const maxTextLength = 200;

/** A non-empty text of bounded length; a longer one is not cut, since its first part may say something else. */
export function usableText(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxLength ? value : undefined;
}

function textsAt<Key extends string>(order: unknown, pointers: Record<Key, string>): { [K in Key]?: string } {
  const texts: { [K in Key]?: string } = {};
  for (const key of Object.keys(pointers) as Key[]) {
    const text = usableText(valueAt(order, pointers[key]), maxTextLength);
    if (text !== undefined) texts[key] = text;
  }
  return texts;
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** Whether personal data of drivers is kept of an answer. Default: it is not. */
export interface Keeping {
  keepsPersonalData?: boolean | undefined;
}

const personalPointers = {
  name: '/supplier/driver/name',
  phone: '/supplier/driver/phone',
  imageUrl: '/supplier/driver/image_url',
};

/** The details in the object that holds the status; null when none of them is there. */
function parseRideDetails(order: unknown, { keepsPersonalData = false }: Keeping = {}): RideDetails | null {
  const times = textsAt(order, {
    requestedAt: '/requested_at',
    scheduledAt: '/scheduled_at',
    willArriveAtPickup: '/will_arrive_at_pickup',
    pickedUpAt: '/pickedup_at',
    droppedOffAt: '/droppedoff_at',
  });
  const supplier = textsAt(order, { name: '/supplier/name', code: '/supplier/code' });
  const plate = keepsPersonalData ? textsAt(order, { licensePlate: '/supplier/driver/vehicle/license_plate' }) : {};
  const vehicle = { ...textsAt(order, { model: '/supplier/driver/vehicle/model' }), ...plate };
  const driver = keepsPersonalData ? textsAt(order, personalPointers) : {};
  const parts = Object.entries({ supplier, driver, vehicle }).filter(([, part]) => !isEmpty(part));
  const details: RideDetails = { ...times, ...Object.fromEntries(parts) };
  return isEmpty(details) ? null : details;
}

/** Where in a reply status and order id may stand, the first usable value wins. */
type OrderPointers = ContractProfile['pointers']['orderStatus'];

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

/** Reads what an order look-up returned, at either interface.
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

/** In characters. A receipt has a few dozen fields; a far bigger answer is none, and Temporal would have to keep it. */
const maxReceiptLength = 65_536;

/** Reads the answer of the receipt call (assumed): an object, kept as it came, since amounts may be
 *  numbers or text and more fields may come. Undefined for anything else. */
export function parseReceiptReply(body: unknown): JsonObject | undefined {
  if (!isJsonObject(body)) return undefined;
  return JSON.stringify(body).length <= maxReceiptLength ? body : undefined;
}
