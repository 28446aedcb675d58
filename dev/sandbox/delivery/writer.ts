import { randomUUID } from 'node:crypto';
import type { Subscriber } from '../subscription/subscribers.js';
import { type DeliveryEvent, type DeliveryFacts, deliveryBody } from './bodies.js';
import { type DeliveryFlaw, flawedBody, wrongPath } from './flaws.js';
import type { DeliveryAttempt } from './ledger.js';
import type { DeliverySettings } from './settings.js';
import { signatureOf } from './signature.js';

/** The subject of a delivery. */
export interface Tidings {
  eventType: DeliveryEvent;
  orderId?: string | undefined;
  status?: string | undefined;
}

/** A subject with what makes it an event of its own. */
export interface NumberedTidings extends Tidings, Pick<DeliveryFacts, 'number' | 'id' | 'timestamp' | 'employeeId'> {}

/** A delivery as the sandbox sends it in each attempt. Holds a proof, so no ledger may hold it. */
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

/** How one message differs from those that the sandbox sends by itself. */
export interface MessageForm {
  flaw?: DeliveryFlaw | undefined;
  /** The size of an oversized body. */
  bytes?: number | undefined;
}

export interface WriterPorts {
  settings(): DeliverySettings;
  /** The product of an order. */
  productOf(orderId: string | undefined): string;
}

const defaultOversize = 262_145; // one byte more than an ingress takes
const wrongSecret = '00000000-0000-4000-8000-000000000000';

/** Makes deliveries as the service publishes them. */
export function createDeliveryWriter({ settings, productOf }: WriterPorts) {
  let lastNumber = 0;
  return {
    /** The time contains the number, so no two times are equal. */
    number(tidings: Tidings): NumberedTidings {
      lastNumber += 1;
      const fraction = String(lastNumber % 1_000_000).padStart(6, '0');
      const timestamp = new Date().toISOString().replace('Z', `${fraction}Z`);
      return { ...tidings, number: lastNumber, id: randomUUID(), timestamp, employeeId: randomUUID() };
    },
    /** `form`: the wishes of a command. The same arguments give the same bytes. */
    write(subscriber: Subscriber, tidings: NumberedTidings, form?: MessageForm): Delivery {
      const { id: subscriberId, hookAddress } = subscriber;
      const { number: delivery, eventType, orderId, status } = tidings;
      const cause = form ? 'command' : 'change';
      const facts: DeliveryFacts = {
        ...tidings,
        ...{ event: eventType, orderId, status, hookAddress, productId: productOf(orderId) },
      };
      return {
        facts: { delivery, subscriberId, eventType, orderId, status, cause, flaw: form?.flaw },
        message: toMessage(subscriber, facts, settings(), form),
      };
    },
  };
}

function toMessage(
  { hookAddress, secretId }: Subscriber,
  facts: DeliveryFacts,
  { signatureHeader }: DeliverySettings,
  { flaw, bytes = defaultOversize }: MessageForm = {},
): DeliveryMessage {
  const body = flawedBody(flaw, Buffer.from(JSON.stringify(deliveryBody(facts))), bytes);
  const proof = signatureOf(body, flaw === 'wrongSecret' ? wrongSecret : secretId);
  return {
    url: flaw === 'wrongPath' ? wrongPath(hookAddress) : hookAddress,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'ride-service-sandbox',
      ...(flaw !== 'unsigned' && { [signatureHeader]: proof }),
    },
    body,
    isChunked: flaw === 'oversizedChunked',
  };
}
