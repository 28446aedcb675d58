import type { Subscriber } from '../subscription/subscribers.js';
import { type DeliveryFacts, type DeliveryShape, deliveryBody } from './bodies.js';
import { type DeliveryFlaw, flawedBody, wrongPath } from './flaws.js';
import { type SecretPlace, secretHeaders, withSecretField } from './secrets.js';
import type { DeliverySettings } from './settings.js';

/** A delivery as the sandbox sends it in each attempt. Holds secrets, so no ledger may hold it. */
export interface DeliveryMessage {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Is the body sent in chunks, without a length? */
  isChunked: boolean;
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

/** Writes a delivery for one subscriber. */
export function toMessage(
  subscriber: Subscriber,
  facts: DeliveryFacts,
  settings: DeliverySettings,
  { flaw, bytes = defaultOversize, ...form }: MessageForm = {},
): DeliveryMessage {
  const own = settings.bySubscriber[subscriber.id];
  const shape = form.shape ?? own?.shape ?? settings.shape;
  const place: SecretPlace = flaw === 'noSecret' ? { mode: 'none' } : (form.secret ?? own?.secret ?? settings.secret);
  const secret = flaw === 'wrongSecret' ? wrongSecret : subscriber.secretId;
  const usual = Buffer.from(JSON.stringify(withSecretField(deliveryBody(shape, facts), place, secret)));
  const body = flawedBody(flaw, usual, bytes);
  return {
    url: flaw === 'wrongPath' ? wrongPath(subscriber.hookAddress) : subscriber.hookAddress,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'ride-service-sandbox',
      ...secretHeaders(body, place, secret),
    },
    body,
    isChunked: flaw === 'oversizedChunked',
  };
}
