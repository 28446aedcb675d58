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
import { FaretrailError } from '../domain/errors.js';
import type { DeliveryId } from '../domain/keys.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import type { Arrival } from './addresses.js';
import { openContent, type RawDelivery, readRawDelivery, sealContent } from './raw-delivery.js';

/** One delivery of a body, not sealed yet. */
interface FoundDelivery {
  delivery: Delivery;
  /** The JSON of an event of the body; undefined for the whole body. */
  event?: string;
}

/** A body with more events is parked whole, so that none fills the journal and the share of its account. */
const maxEvents = 1_000;
/** The reading of a body that JSON parsers read differently. */
const unread: DeliveryReading = { isObject: true, orderId: null, isOrderIdUnusable: false };

/** Reads bodies by the contract profile. */
export type BodyReader = ReturnType<typeof createBodyReader>;

/** One reader for a process. */
export function createBodyReader({ pointers, delivery: settings, statuses }: ContractProfile) {
  const read = createDeliveryReader(pointers.delivery, statuses.notOrderStatus);

  function readEvent(event: unknown, whole: DeliveryReading, at: Arrival) {
    const own = read(event);
    const reading = withSurroundings(own, whole);
    const text = JSON.stringify(event);
    // Two orders may have the same words said about them.
    const idText = own.orderId === reading.orderId ? text : `${reading.orderId}/${text}`;
    return { reading, text, idText, reason: whyToPark(reading, at) };
  }

  return {
    /** The body as one delivery, or each of its events where at least one can be forwarded. None: the body only tests the address. */
    deliveriesIn(at: Arrival, { body, isClear }: RawDelivery, deliveryId: DeliveryId): FoundDelivery[] {
      const whole = isClear ? read(body) : unread;
      const list = isClear ? eventsIn(body, settings.events) : [];
      if (isTestDelivery(whole) && list.length === 0) return [];
      const isTooMuch = !isClear || list.length > maxEvents;
      const events = isTooMuch ? [] : list.map((event) => readEvent(event, whole, at));
      if (!events.some(({ reason }) => reason === null)) {
        const reason = isTooMuch ? 'ambiguousBody' : events[0] ? events[0].reason : whyToPark(whole, at);
        return [{ delivery: inShort(at, whole, deliveryId, reason) }];
      }
      const found: FoundDelivery[] = events.map(({ reading, text, idText, reason }) => {
        const delivery = inShort(at, reading, deliveryIdOf(at, Buffer.from(idText)), reason);
        return { delivery, event: text };
      });
      // An order that only the body names beside its list.
      const isTold = whole.orderId === null || events.some(({ reading }) => reading.orderId === whole.orderId);
      if (!isTold) found.push({ delivery: inShort(at, whole, deliveryId, whyToPark(whole, at)) });
      return found;
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

/** What the store keeps of every delivery. */
function inShort(at: Arrival, reading: DeliveryReading, deliveryId: DeliveryId, reason: ParkReason | null): Delivery {
  const { account, eventType, arrivedAt, traceparent } = at;
  const orderId = reason === null ? reading.orderId : null;
  const kept: Delivery = { account, eventType, orderId, deliveryId, receivedAt: new Date(arrivedAt).toISOString() };
  if (reading.status !== undefined) kept.status = reading.status;
  if (traceparent !== undefined) kept.traceparent = traceparent;
  if (reason !== null) kept.parkReason = reason;
  return kept;
}

/**
 * The first 32 hex digits of SHA-256 over `<account>/<event type>/` and the unpacked body, or the JSON of one event. The same at the
 * same subscription is the same delivery, at whichever generation of the address, alone or beside others.
 */
export const deliveryIdOf = ({ account, eventType }: SubscriptionKey, text: Uint8Array): DeliveryId =>
  // A hash object that takes parts would stay in memory until the next full collection.
  hash('sha256', Buffer.concat([Buffer.from(`${account}/${eventType}/`), text]), 'hex').slice(0, 32) as DeliveryId;

/** Seals what a person must place: the whole body, or the event alone. A promise only where there is something to seal. */
export function sealParked(
  sealer: Pick<Sealer, 'seal'>,
  found: readonly FoundDelivery[],
  body: RawDelivery,
): Delivery[] | Promise<Delivery[]> {
  if (!found.some(({ delivery }) => delivery.parkReason)) return found.map(({ delivery }) => delivery);
  const sealed = found.map(async ({ delivery, event }) => {
    if (delivery.parkReason === undefined) return delivery;
    const own = { headers: { 'content-type': 'application/json' }, rawBody: Buffer.from(event ?? '') };
    return { ...delivery, sealed: await sealContent(sealer, delivery, event === undefined ? body : own) };
  });
  return Promise.all(sealed);
}

/** What is kept of a body that was admitted by its path alone: one delivery, with all that a later check needs. */
export async function sealUnchecked(
  sealer: Pick<Sealer, 'seal'>,
  [first]: readonly FoundDelivery[],
  body: RawDelivery,
  { at, deliveryId, headers }: { at: Arrival; deliveryId: DeliveryId; headers: readonly string[] },
): Promise<Delivery[]> {
  const { businessId, generation: uncheckedGeneration } = at;
  const sealed = await sealContent(sealer, { account: at.account, deliveryId }, body, headers);
  if (first?.event === undefined) return first ? [{ ...first.delivery, uncheckedGeneration, sealed }] : [];
  const uncheckedEvents = businessId === undefined ? {} : { businessId };
  return [{ ...inShort(at, unread, deliveryId, null), uncheckedGeneration, uncheckedEvents, sealed }];
}

/** Calls to Temporal, or entries of the journal that share a commit. */
const keptAtOnce = 100;

/** Keeps each of them. Rejects if one is not kept: then the sender, or the journal, still has all of them. */
export async function keepAll(all: readonly Delivery[], keep: (one: Delivery) => Promise<void>): Promise<void> {
  const [only, another] = all;
  if (only && !another) await keep(only);
  else await pMap(all, keep, { concurrency: keptAtOnce });
}

/** Takes the events apart of a body that was kept whole, once it has passed its check. */
export const createTakingApart =
  (reader: BodyReader, sealer: Pick<Sealer, 'seal' | 'unseal'>) =>
  async (delivery: Delivery): Promise<Delivery[]> => {
    const { deliveryId, receivedAt, sealed = '', uncheckedEvents, uncheckedGeneration: generation = '' } = delivery;
    const body = readRawDelivery(await openContent(sealer, delivery, sealed));
    if (body === null) throw new FaretrailError('ContentUnreadable', 'a delivery that was JSON is none any more');
    const at = { ...delivery, ...uncheckedEvents, generation, arrivedAt: Date.parse(receivedAt) };
    return await sealParked(sealer, reader.deliveriesIn(at, body, deliveryId), body);
  };
