import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { generationPattern } from '../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { KeyRing, NamedKey } from './key-ring.js';

/** One address of a subscription: each new address is a new generation. */
type WebhookAddress = SubscriptionKey & { generation: string };

/** The addresses that deliveries come to; only a holder of the webhook keys can make one. HMAC-SHA256 over account, event type and generation,
 *  checked in constant time, without any look-up. */
export function createWebhookPaths(keys: KeyRing) {
  // RFC 5869: one key, one purpose; the ring's own keys seal.
  const derived = ({ key }: NamedKey) => new Uint8Array(hkdfSync('sha256', key, '', 'faretrail path', 32));
  const first = derived(keys[0]);
  const all = keys.map(derived);

  const macOf = ({ account, eventType, generation }: WebhookAddress, key: Uint8Array): Buffer =>
    createHmac('sha256', key).update(`${account}/${eventType}/${generation}`).digest();

  return {
    /** `/webhooks/<account>/<eventType>/<generation>.<mac>`, under the first key. Holds a secret: never log it. */
    pathOf(address: WebhookAddress): string {
      const mac = macOf(address, first).toString('base64url');
      return `/webhooks/${address.account}/${address.eventType}/${address.generation}.${mac}`;
    },
    /** Reads the last segment of a path. The generation if its mac was made by us under any key, else undefined. */
    readCapability(key: SubscriptionKey, capability: string): string | undefined {
      const [generation = '', mac = '', ...rest] = capability.split('.');
      if (rest.length > 0 || !generationPattern.test(generation) || !macPattern.test(mac)) return undefined;
      const given = Buffer.from(mac, 'base64url');
      const isOurs = all.some((each) => timingSafeEqual(macOf({ ...key, generation }, each), given));
      return isOurs ? generation : undefined;
    },
  };
}

/** 32 bytes as base64url, RFC 4648 section 5. Two bits of the last letter are unused and zero, so that a mac has one spelling. */
const macPattern = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;
