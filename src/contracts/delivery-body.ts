import type { ParkReason } from '../domain/delivery.js';
import { InvalidInput } from '../domain/errors.js';
import { readInstant } from '../domain/instant.js';
import { isSameId, type OrderId, toOrderId } from '../domain/keys.js';
import { type EventType, mustNameOrder } from '../domain/subscription/subscription.js';
import type { ContractProfile } from './contract-profile.js';
import { hasFlawAt, isJsonObject, valueAt } from './json.js';
import { findStatus, usableText } from './order-reply.js';
import { claimedStatus } from './status-words.js';

/** What a delivery claims, read at the pointers of the profile. A claim is a hint: only a read of the order is the truth. */
export interface DeliveryReading {
  isObject: boolean;
  /** False: a JSON text on the way of a pointer is ambiguous, or holds too much. */
  isClear: boolean;
  orderId: OrderId | null;
  /** The body has a value at an order id pointer, but it is not a valid order id. */
  isOrderIdUnusable: boolean;
  /** Of a report it says nothing about the order. */
  status?: string;
  eventType?: string;
  /** The service's own id of the event. */
  eventId?: string;
  /** When it happened, by the service's clock: in UTC, to the millisecond. */
  eventTime?: string;
  businessId?: string;
}

const maxTextLength = 100;
/** A delivery may name the event in the plural (assumed). */
const otherNames: ReadonlyMap<string, EventType> = new Map([['business_reports', 'business_report']]);

/** A reader for one profile. It never throws, and it reads only the values at the pointers, however large or deep the body is. */
export function createDeliveryReader(
  pointers: ContractProfile['pointers']['delivery'],
  statuses: Pick<ContractProfile['statuses'], 'notOrderStatus' | 'words'>,
): (body: unknown) => DeliveryReading {
  const all = Object.values(pointers).flat();
  return (body) => {
    const status = findStatus(body, pointers.status, statuses.notOrderStatus)?.word;
    const eventType = findText(body, pointers.eventType);
    const businessId = findText(body, pointers.businessId);
    const eventId = findText(body, pointers.eventId);
    const eventTime = findFirst(body, pointers.eventTime, readEventTime);
    return {
      isObject: isJsonObject(body),
      isClear: !hasFlawAt(body, all),
      ...findOrderId(body, pointers.orderId),
      ...(status !== undefined && { status: claimedStatus(status, statuses) }),
      ...(eventType !== undefined && { eventType }),
      ...(businessId !== undefined && { businessId }),
      ...(eventId !== undefined && { eventId }),
      ...(eventTime !== undefined && { eventTime }),
    };
  };
}

/** Why the ingress acknowledges a delivery and does nothing else: it only tests the address, or it is about an employee. Null for any other. */
export function toIgnored({ eventType = '' }: DeliveryReading): 'test' | 'employee' | null {
  if (/^test/i.test(eventType)) return 'test';
  return eventType === 'employee_updated' ? 'employee' : null;
}

/** Why the ingress must park this delivery; null if it can forward it. The address determines event type and company. */
export function whyToPark(
  { isObject, isClear, orderId, isOrderIdUnusable, eventType, businessId }: DeliveryReading,
  address: { eventType: EventType; businessId?: string | undefined },
): ParkReason | null {
  if (!isClear) return 'ambiguousBody';
  const isOurCompany =
    businessId === undefined || address.businessId === undefined || isSameId(businessId, address.businessId);
  if (!isOurCompany) return 'otherCompany';
  if (eventType !== undefined && (otherNames.get(eventType) ?? eventType) !== address.eventType)
    return 'otherEventType';
  if (orderId !== null) return null;
  if (isOrderIdUnusable) return 'orderIdUnusable';
  return mustNameOrder[address.eventType] || !isObject ? 'noOrderId' : null;
}

const findFirst = (
  body: unknown,
  pointers: readonly string[],
  read: (value: unknown) => string | undefined,
): string | undefined => pointers.map((pointer) => read(valueAt(body, pointer))).find((text) => text !== undefined);

const findText = (body: unknown, pointers: readonly string[]): string | undefined =>
  findFirst(body, pointers, (value) => usableText(value, maxTextLength));

/** With nine digits behind the point it has 35 characters. */
const readEventTime = (value: unknown): string | undefined => readInstant(usableText(value, 40));

function findOrderId(
  body: unknown,
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
