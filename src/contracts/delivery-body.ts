import type { ParkReason } from '../domain/delivery.js';
import { InvalidInput } from '../domain/errors.js';
import { type OrderId, toOrderId } from '../domain/keys.js';
import { type EventType, mustNameOrder } from '../domain/subscription/subscription.js';
import type { ContractProfile } from './contract-profile.js';
import { type JsonObject, valueAt } from './json.js';
import { findStatus, usableText } from './order-reply.js';

/** What a delivery claims, read at the pointers of the profile. A claim is a hint: only a read of the order is the truth. */
export interface DeliveryReading {
  orderId: OrderId | null;
  /** The body has a value at an order id pointer, but it is not a valid order id. */
  isOrderIdUnusable: boolean;
  status?: string;
  eventType?: string;
  businessId?: string;
}

const maxTextLength = 100;
/** A delivery may name the event in the plural (assumed). */
const otherNames: ReadonlyMap<string, EventType> = new Map([['business_reports', 'business_report']]);

/** A reader for one profile. It never throws, and it reads only the values at the pointers, however large or deep the body is. */
export function createDeliveryReader(
  pointers: ContractProfile['pointers']['delivery'],
  notOrderStatus: readonly string[],
): (body: JsonObject) => DeliveryReading {
  return (body) => {
    const status = findStatus(body, pointers.status, notOrderStatus)?.word;
    const eventType = findText(body, pointers.eventType);
    const businessId = findText(body, pointers.businessId);
    return {
      ...findOrderId(body, pointers.orderId),
      ...(status !== undefined && { status }),
      ...(eventType !== undefined && { eventType }),
      ...(businessId !== undefined && { businessId }),
    };
  };
}

/** Is this a delivery that only tests the address? The ingress acknowledges it and does nothing else (assumed). */
export const isTestDelivery = ({ eventType }: DeliveryReading): boolean => /^test/i.test(eventType ?? '');

/** Why the ingress must park this delivery; null if it can forward it. The address determines event type and company. */
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

const findText = (body: JsonObject, pointers: readonly string[]): string | undefined =>
  pointers.map((pointer) => usableText(valueAt(body, pointer), maxTextLength)).find((text) => text !== undefined);

function findOrderId(
  body: JsonObject,
  pointers: readonly string[],
): Pick<DeliveryReading, 'orderId' | 'isOrderIdUnusable'> {
  let isOrderIdUnusable = false;
  for (const pointer of pointers) {
    const value = valueAt(body, pointer);
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
