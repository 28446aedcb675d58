import type { ParkReason } from '../domain/delivery.js';
import { InvalidInput } from '../domain/errors.js';
import { type OrderId, toOrderId } from '../domain/keys.js';
import { type EventType, mustNameOrder } from '../domain/subscription/subscription.js';
import type { ContractProfile } from './contract-profile.js';
import { type JsonObject, ownValue, valueAt } from './json.js';
import { usableText } from './order-reply.js';

/** What the body of a delivery claims, wherever the profile looks for it. Never the truth about an order. */
export interface DeliveryReading {
  orderId: OrderId | null;
  /** Something stands where an order id belongs, but no order can be named so. */
  isOrderIdUnusable: boolean;
  status?: string;
  eventType?: string;
  businessId?: string;
}

/** Where a delivery says what it is about, and which words at `/status` do not speak of the order. */
export type DeliveryPointers = ContractProfile['pointers']['delivery'];

const maxTextLength = 100;
/** A delivery may name the event in the plural (assumed). */
const otherNames: ReadonlyMap<string, EventType> = new Map([['business_reports', 'business_report']]);

/** A reader for one profile. It never throws and looks only where the pointers say, however large or deep the body. */
export function createDeliveryReader(
  pointers: DeliveryPointers,
  notOrderStatus: readonly string[],
): (body: JsonObject) => DeliveryReading {
  const skipped = new Set(notOrderStatus.map((word) => word.toLowerCase()));
  const orderIdPlaces = pointers.orderId.map(toPlace);
  const statusPlaces = pointers.status.map(toPlace);
  const eventTypePlaces = pointers.eventType.map(toPlace);
  const businessIdPlaces = pointers.businessId.map(toPlace);
  // There the word may speak of the message ("success") instead of the order.
  const isStatus = (word: string, { pointer }: Place): boolean =>
    pointer !== '/status' || !skipped.has(word.toLowerCase());

  return (body) => {
    const reading: DeliveryReading = findOrderId(body, orderIdPlaces);
    const status = findText(body, statusPlaces, isStatus);
    if (status !== undefined) reading.status = status;
    const eventType = findText(body, eventTypePlaces);
    if (eventType !== undefined) reading.eventType = eventType;
    const businessId = findText(body, businessIdPlaces);
    if (businessId !== undefined) reading.businessId = businessId;
    return reading;
  };
}

/** Made to try an address: acknowledged, and nothing else happens (assumed). */
export const isTestDelivery = ({ eventType }: DeliveryReading): boolean => /^test/i.test(eventType ?? '');

/** Why this delivery must be parked; null when it can be forwarded. Event type and company follow from its address. */
export function whyToPark(
  { orderId, isOrderIdUnusable, eventType, businessId }: DeliveryReading,
  address: { eventType: EventType; businessId?: string | undefined },
): ParkReason | null {
  const isOurCompany =
    businessId === undefined ||
    address.businessId === undefined ||
    businessId.toLowerCase() === address.businessId.toLowerCase(); // RFC 9562 section 4: UUIDs are read in any case
  if (!isOurCompany) return 'otherCompany';
  if (eventType !== undefined && (otherNames.get(eventType) ?? eventType) !== address.eventType)
    return 'otherEventType';
  if (orderId !== null) return null;
  if (isOrderIdUnusable) return 'orderIdUnusable';
  return mustNameOrder[address.eventType] ? 'noOrderId' : null;
}

interface Place {
  pointer: string;
  /** The names on the way; null when they are written with escapes. */
  names: readonly string[] | null;
}

const toPlace = (pointer: string): Place => ({
  pointer,
  names: pointer.includes('~') ? null : pointer.split('/').slice(1),
});

/** `valueAt`, with the pointer read once: reading all of them for each body would cost more than parsing it does. */
function lookAt(body: JsonObject, { pointer, names }: Place): unknown {
  if (names === null) return valueAt(body, pointer);
  let value: unknown = body;
  for (const name of names) {
    if (Array.isArray(value)) return valueAt(body, pointer);
    value = ownValue(value, name);
    if (value === undefined) return undefined;
  }
  return value;
}

function findText(
  body: JsonObject,
  places: readonly Place[],
  isMeant: (word: string, place: Place) => boolean = () => true,
): string | undefined {
  for (const place of places) {
    const text = usableText(lookAt(body, place), maxTextLength);
    if (text !== undefined && isMeant(text, place)) return text;
  }
  return undefined;
}

function findOrderId(
  body: JsonObject,
  places: readonly Place[],
): Pick<DeliveryReading, 'orderId' | 'isOrderIdUnusable'> {
  let isOrderIdUnusable = false;
  for (const place of places) {
    const value = lookAt(body, place);
    if ((typeof value !== 'string' && typeof value !== 'number') || value === '') continue;
    try {
      return { orderId: toOrderId(value), isOrderIdUnusable: false };
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      isOrderIdUnusable = true;
    }
  }
  return { orderId: null, isOrderIdUnusable };
}
