import type { ParkReason } from '../domain/delivery.js';
import { InvalidInput } from '../domain/errors.js';
import { type OrderId, toOrderId } from '../domain/keys.js';
import { type EventType, mustNameOrder } from '../domain/subscription/subscription.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, ownValue, pointerTokens, valueAt } from './json.js';
import { findStatus, usableText } from './order-reply.js';
import { claimedStatus } from './status-words.js';

/** What a delivery claims, read at the pointers of the profile. A claim is a hint: only a read of the order is the truth. */
export interface DeliveryReading {
  isObject: boolean;
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
  statuses: Pick<ContractProfile['statuses'], 'notOrderStatus' | 'words'>,
): (body: unknown) => DeliveryReading {
  return (body) => {
    const status = findStatus(body, pointers.status, statuses.notOrderStatus)?.word;
    const eventType = findText(body, pointers.eventType);
    const businessId = findText(body, pointers.businessId);
    return {
      isObject: isJsonObject(body),
      ...findOrderId(body, pointers.orderId),
      ...(status !== undefined && { status: claimedStatus(status, statuses) }),
      ...(eventType !== undefined && { eventType }),
      ...(businessId !== undefined && { businessId }),
    };
  };
}

/** The elements of the lists at these pointers, each of which ends in `/*`: the events of a body that holds several. */
export const eventsIn = (body: unknown, pointers: readonly string[]): unknown[] =>
  pointers.flatMap((pointer) => {
    const list = valueAt(body, pointer.slice(0, -2));
    return Array.isArray(list) ? list : [];
  });

/** What an event says, and what stands beside the list of events where it says nothing. */
export function withSurroundings(event: DeliveryReading, body: DeliveryReading): DeliveryReading {
  const { orderId, isOrderIdUnusable } = event.orderId === null && !event.isOrderIdUnusable ? body : event;
  return { ...body, ...event, orderId, isOrderIdUnusable };
}

/** Is this a delivery that only tests the address? The ingress acknowledges it and does nothing else (assumed). */
export const isTestDelivery = ({ eventType }: DeliveryReading): boolean => /^test/i.test(eventType ?? '');

/** Why the ingress must park this delivery; null if it can forward it. The address determines event type and company. */
export function whyToPark(
  { isObject, orderId, isOrderIdUnusable, eventType, businessId }: DeliveryReading,
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
  return mustNameOrder[address.eventType] || !isObject ? 'noOrderId' : null;
}

const findText = (body: unknown, pointers: readonly string[]): string | undefined =>
  pointers.map((pointer) => usableText(valueAt(body, pointer), maxTextLength)).find((text) => text !== undefined);

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

/** A text that the service wants back before it accepts an address (assumed). */
export interface Challenge {
  /** The answer, as a text or as JSON. */
  body: string;
  contentType: string;
}

/** Far longer than any that we know of other services. */
const maxChallengeLength = 1_024;

/** Finds the challenge in the query of a request or in its JSON; undefined where there is none. */
export function findChallenge(
  settings: ContractProfile['delivery']['challenge'],
  { query, body }: { query: unknown; body?: unknown },
): Challenge | undefined {
  if (settings.mode === 'none') return undefined;
  const isInQuery = settings.mode === 'query';
  const text = usableText(
    isInQuery ? ownValue(query, settings.name) : valueAt(body, settings.pointer),
    maxChallengeLength,
  );
  if (text === undefined) return undefined;
  if (settings.answer === 'text') return { body: text, contentType: 'text/plain; charset=utf-8' };
  const name = isInQuery ? settings.name : (pointerTokens(settings.pointer)?.at(-1) ?? '');
  return { body: JSON.stringify({ [name]: text }), contentType: 'application/json; charset=utf-8' };
}
