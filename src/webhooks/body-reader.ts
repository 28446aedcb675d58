import { hash } from 'node:crypto';
import type { ContractProfile } from '../contracts/contract-profile.js';
import { createDeliveryReader, type DeliveryReading, toIgnored, whyToPark } from '../contracts/delivery-body.js';
import type { Delivery } from '../domain/delivery.js';
import { type DeliveryId, oneSpelling } from '../domain/keys.js';
import type { Arrival } from './addresses.js';
import type { RawDelivery } from './raw-delivery.js';

/** A delivery as its body tells it. */
export interface FoundDelivery {
  /** What the store keeps of it, without its content. */
  delivery: Delivery;
  /** Why the ingress acknowledges it and does nothing else; null for a delivery that goes on. */
  ignored: ReturnType<typeof toIgnored>;
}

/** The reading of a body that JSON parsers read differently. */
const unread: DeliveryReading = { isObject: true, isClear: false, orderId: null, isOrderIdUnusable: false };

/** Reads bodies by the contract profile. */
export type BodyReader = ReturnType<typeof createBodyReader>;

/** One reader for a process. */
export function createBodyReader({ pointers, statuses }: Pick<ContractProfile, 'pointers' | 'statuses'>) {
  const read = createDeliveryReader(pointers.delivery, statuses);

  return (at: Arrival, raw: RawDelivery): FoundDelivery => {
    const reading = raw.isClear ? read(raw.body) : unread;
    const { account, eventType, arrivedAt, traceparent } = at;
    const parkReason = whyToPark(reading, at);
    const orderId = parkReason === null ? reading.orderId : null;
    const status = eventType === 'status_changed' ? reading.status : undefined;
    const delivery: Delivery = {
      ...{ account, eventType, orderId },
      deliveryId: deliveryIdOf(at, saidBy({ ...reading, orderId, status }) ?? raw.unpacked),
      receivedAt: new Date(arrivedAt).toISOString(),
    };
    if (status !== undefined) delivery.status = status;
    if (reading.eventTime !== undefined) delivery.eventTime = reading.eventTime;
    if (traceparent !== undefined) delivery.traceparent = traceparent;
    if (parkReason !== null) delivery.parkReason = parkReason;
    return { delivery, ignored: toIgnored(reading) };
  };
}

/**
 * What makes two deliveries the same where the service gives events an id: that id, the order and the status. Undefined without an order: of
 * what a person has to place, each different body counts.
 */
function saidBy(reading: Pick<DeliveryReading, 'eventId' | 'orderId'> & { status: string | undefined }) {
  const { eventId, orderId, status = null } = reading;
  if (eventId === undefined || orderId === null) return undefined;
  return Buffer.from(`event ${JSON.stringify([oneSpelling(eventId), orderId, status])}`); // no JSON, so no body is the same
}

/**
 * The first 32 hex digits of SHA-256 over `<account>/<event type>/` and what the delivery said, or the unpacked body. The same at the same
 * subscription is the same delivery, at whichever generation of the address.
 */
const deliveryIdOf = ({ account, eventType }: Arrival, said: Uint8Array): DeliveryId =>
  // A hash object that takes parts would stay in memory until the next full collection.
  hash('sha256', Buffer.concat([Buffer.from(`${account}/${eventType}/`), said]), 'hex').slice(0, 32) as DeliveryId;
