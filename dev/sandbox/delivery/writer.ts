import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Subscriber } from '../subscription/subscribers.js';
import { type DeliveryFacts, type DeliveryShape, deliveryBody } from './bodies.js';
import { type DeliveryFlaw, flawedBody, wrongPath } from './flaws.js';
import type { DeliveryAttempt } from './ledger.js';
import { type SecretPlace, secretHeaders, withField, withSecretField } from './secrets.js';
import type { DeliverySettings } from './settings.js';

/** The subject of a delivery. */
export interface Tidings extends Pick<DeliveryFacts, 'eventType' | 'orderId' | 'status'> {
  previousStatus?: string | undefined;
}

/** A subject with its own number and time. */
export interface NumberedTidings extends Tidings {
  number: number;
  timestamp: string;
}

/** A delivery as the sandbox sends it in each attempt. Holds secrets, so no ledger may hold it. */
export interface DeliveryMessage {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Is the body sent in chunks, without a length? */
  isChunked: boolean;
}

/** A delivery and its facts. */
export interface Delivery {
  facts: Omit<DeliveryAttempt, 'at' | 'attempt' | 'answer' | 'failure' | 'acknowledgedAs' | 'ms'>;
  message: DeliveryMessage;
}

/** How one message differs from the settings. */
export interface MessageForm {
  shape?: DeliveryShape | undefined;
  secret?: SecretPlace | undefined;
  flaw?: DeliveryFlaw | undefined;
  /** The size of an oversized body. */
  bytes?: number | undefined;
}

const defaultOversize = 262_145; // one byte more than an ingress takes
const wrongSecret = '00000000-0000-4000-8000-000000000000';

/** Makes deliveries as the settings say. */
export function createDeliveryWriter(settings: () => DeliverySettings, businessId: string) {
  let lastNumber = 0;
  return {
    /** The time contains the number, so no two times are equal. */
    number(tidings: Tidings): NumberedTidings {
      lastNumber += 1;
      const fraction = String(lastNumber % 1_000_000).padStart(6, '0');
      return { ...tidings, number: lastNumber, timestamp: new Date().toISOString().replace('Z', `${fraction}Z`) };
    },
    /** `form`: the wishes of a command. The same arguments give the same bytes. */
    write(subscriber: Subscriber, { number, ...tidings }: NumberedTidings, form?: MessageForm): Delivery {
      const { id: subscriberId, hookAddress } = subscriber;
      const { eventType, orderId, status } = tidings;
      const cause = form ? 'command' : 'change';
      const facts = { previousStatus: undefined, ...tidings, businessId, hookAddress };
      return {
        facts: { delivery: number, subscriberId, eventType, orderId, status, cause, flaw: form?.flaw },
        message: toMessage(subscriber, facts, settings(), form),
      };
    },
  };
}

function toMessage(
  subscriber: Subscriber,
  facts: DeliveryFacts,
  settings: DeliverySettings,
  { flaw, bytes = defaultOversize, ...form }: MessageForm = {},
): DeliveryMessage {
  const own = settings.bySubscriber[subscriber.id];
  const shape = form.shape ?? own?.shape ?? settings.shape;
  const place: SecretPlace = flaw === 'noSecret' ? { mode: 'none' } : (form.secret ?? own?.secret ?? settings.secret);
  const secret = flaw === 'wrongSecret' ? wrongSecret : subscriber.secretId;
  const { eventsAt, coding, slash } = settings;
  const eventOf = (status: string | undefined) =>
    withSecretField(deliveryBody(shape, { ...facts, status }), place, secret);
  const statuses = facts.previousStatus === undefined ? [facts.status] : [facts.previousStatus, facts.status];
  // A flaw is one of a single event.
  const isList = eventsAt !== null && flaw === undefined;
  const content = isList ? withField({}, eventsAt.split('/').slice(1), statuses.map(eventOf)) : eventOf(facts.status);
  const plain = flawedBody(flaw, Buffer.from(JSON.stringify(content)), bytes);
  const body = packers[coding](plain);
  const url = flaw === 'wrongPath' ? wrongPath(subscriber.hookAddress) : subscriber.hookAddress;
  return {
    url: slash ? `${url}/` : url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'ride-service-sandbox',
      ...(coding !== 'none' && { 'content-encoding': coding }),
      ...secretHeaders({ sent: body, plain }, place, secret),
    },
    body,
    isChunked: flaw === 'oversizedChunked',
  };
}

const packers: Record<DeliverySettings['coding'], (body: Buffer) => Buffer> = {
  none: (body) => body,
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};
