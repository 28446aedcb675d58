import { hash } from 'node:crypto';
import pMap from 'p-map';
import type { ContractProfile } from '../contracts/contract-profile.js';
import {
  type Challenge,
  createDeliveryReader,
  type DeliveryReading,
  eventsIn,
  findChallenge,
  isTestDelivery,
  whyToPark,
  withSurroundings,
} from '../contracts/delivery-body.js';
import type { Delivery, ParkReason } from '../domain/delivery.js';
import type { DeliveryId } from '../domain/keys.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import type { Arrival } from './addresses.js';
import { type RawContent, type RawDelivery, sealContent } from './raw-delivery.js';

/** One delivery of a body, with what is sealed of it for a person or a later check. */
export interface FoundDelivery {
  delivery: Delivery;
  content?: RawContent;
}

/** A body with more events is parked whole, so that none fills the journal and the share of its account. */
const maxEvents = 1_000;
/** The reading of a body that JSON parsers read differently. */
const unread: DeliveryReading = { isObject: true, orderId: null, isOrderIdUnusable: false };

/** Reads bodies by the contract profile. */
export type BodyReader = ReturnType<typeof createBodyReader>;

/** One reader for a process. */
export function createBodyReader({ pointers, delivery: settings, statuses }: ContractProfile) {
  const read = createDeliveryReader(pointers.delivery, statuses);

  function readEvent(event: unknown, whole: DeliveryReading, at: Arrival) {
    const own = read(event);
    const reading = withSurroundings(own, whole);
    const text = JSON.stringify(event);
    const rawBody = Buffer.from(text);
    // Two orders may have the same words said about them.
    const id = deliveryIdOf(at, own.orderId === reading.orderId ? rawBody : Buffer.from(`${reading.orderId}/${text}`));
    const found = inShort(at, reading, id, { headers: { 'content-type': 'application/json' }, rawBody });
    return { orderId: reading.orderId, found };
  }

  return {
    /** The body as one delivery, or each of its events where at least one can be forwarded. None: the body only tests the address. */
    deliveriesIn(at: Arrival, raw: RawDelivery, deliveryId: DeliveryId): FoundDelivery[] {
      const whole = raw.isClear ? read(raw.body) : unread;
      const list = raw.isClear ? eventsIn(raw.body, settings.events) : [];
      if (isTestDelivery(whole) && list.length === 0) return [];
      if (!raw.isClear || list.length > maxEvents) return [inShort(at, whole, deliveryId, raw, 'ambiguousBody')];
      const events = list.map((event) => readEvent(event, whole, at));
      const [first] = events;
      if (!events.some(({ found }) => found.content === undefined))
        return [inShort(at, whole, deliveryId, raw, first?.found.delivery.parkReason)];
      // The body may name an order beside its list that no event is about.
      const isTold = whole.orderId === null || events.some(({ orderId }) => orderId === whole.orderId);
      return [...events.map(({ found }) => found), ...(isTold ? [] : [inShort(at, whole, deliveryId, raw)])];
    },

    /** The challenge in a body that holds nothing else for us. */
    challengeIn({ body, isClear }: RawDelivery): Challenge | undefined {
      if (settings.challenge.mode !== 'body' || !isClear) return undefined;
      const { orderId, isOrderIdUnusable } = read(body);
      if (orderId !== null || isOrderIdUnusable || eventsIn(body, settings.events).length > 0) return undefined;
      return findChallenge(settings.challenge, { query: null, body });
    },
  };
}

/** What the store keeps of every delivery, and the content of one that must be parked. */
function inShort(
  at: Arrival,
  reading: DeliveryReading,
  deliveryId: DeliveryId,
  content: RawContent,
  reason: ParkReason | null = whyToPark(reading, at),
): FoundDelivery {
  const { account, eventType, arrivedAt, traceparent } = at;
  const orderId = reason === null ? reading.orderId : null;
  const delivery: Delivery = { account, eventType, orderId, deliveryId, receivedAt: new Date(arrivedAt).toISOString() };
  if (reading.status !== undefined) delivery.status = reading.status;
  if (traceparent !== undefined) delivery.traceparent = traceparent;
  if (reason === null) return { delivery };
  delivery.parkReason = reason;
  return { delivery, content };
}

/** What is kept of a body that was admitted by its path alone: one delivery, with all that a later check needs. */
export function uncheckedOf(at: Arrival, raw: RawDelivery, first: Delivery, deliveryId: DeliveryId): FoundDelivery {
  const { businessId, generation: uncheckedGeneration } = at;
  if (first.deliveryId === deliveryId) return { delivery: { ...first, uncheckedGeneration }, content: raw };
  const { delivery } = inShort(at, unread, deliveryId, raw, null);
  return { delivery: { ...delivery, uncheckedGeneration, uncheckedEvents: { businessId } }, content: raw };
}

/**
 * The first 32 hex digits of SHA-256 over `<account>/<event type>/` and the unpacked body, or the JSON of one event. The same at the
 * same subscription is the same delivery, at whichever generation of the address, alone or beside others.
 */
export const deliveryIdOf = ({ account, eventType }: SubscriptionKey, text: Uint8Array): DeliveryId =>
  // A hash object that takes parts would stay in memory until the next full collection.
  hash('sha256', Buffer.concat([Buffer.from(`${account}/${eventType}/`), text]), 'hex').slice(0, 32) as DeliveryId;

/** Calls to Temporal, or entries of the journal that share a commit. */
const keptAtOnce = 100;

/** Makes the function that keeps deliveries, each with its content sealed. Rejects if one is not kept: then the sender, or the journal,
 *  still has all of them. */
export function createKeeping(sealer: Pick<Sealer, 'seal'>, accept: (delivery: Delivery) => Promise<void>) {
  return async (all: readonly FoundDelivery[], headersToCheck?: readonly string[]): Promise<void> => {
    const keep = ({ delivery, content }: FoundDelivery): Promise<void> =>
      content === undefined
        ? accept(delivery)
        : sealContent(sealer, delivery, content, headersToCheck).then((sealed) => accept({ ...delivery, sealed }));
    const [only, another] = all;
    await (only && !another ? keep(only) : pMap(all, keep, { concurrency: keptAtOnce }));
  };
}
