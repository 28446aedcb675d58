import { hash } from 'node:crypto';
import type { SubscriptionKey } from '../domain/workflow-ids.js';

/**
 * The first 32 hex digits of SHA-256 over `<account>/<event type>/` and the raw body. The same body at the same
 * subscription is the same delivery, whichever generation of the address it came to.
 */
export const deliveryIdOf = ({ account, eventType }: SubscriptionKey, rawBody: Uint8Array): string =>
  // In one go: an object that takes parts is not freed before the next full collection.
  hash('sha256', Buffer.concat([Buffer.from(`${account}/${eventType}/`), rawBody]), 'hex').slice(0, 32);
