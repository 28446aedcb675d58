import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { generationPattern } from '../domain/subscription/subscription.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { KeyRing, NamedKey } from './key-ring.js';

/** One address of a subscription: each new address is a new generation. */
export interface WebhookAddress extends SubscriptionKey {
  generation: string;
  /** Absent: the form of releases up to 0.2.0, whose addresses work at every host. */
  publicUrl?: string;
}

/**
 * The addresses that deliveries come to; only a holder of the webhook keys can make one. HMAC-SHA256 over host, account,
 * event type and generation, checked in constant time, without any look-up. An address works at its own host alone, so
 * one that was made for another host is worth nothing here. `publicUrls`: where the ingress is reached; without one, the
 * host that the request names counts.
 */
export function createWebhookPaths(keys: KeyRing, publicUrls: readonly string[] = []) {
  // RFC 5869: one key, one purpose; the ring's own keys seal.
  const derived = (purpose: string) => (key: NamedKey) => new Uint8Array(hkdfSync('sha256', key.key, '', purpose, 32));
  const atAnyHost = keys.map(derived('faretrail path'));
  const atOneHost = keys.map(derived('faretrail path at a host'));
  const ownHosts = publicUrls.map(hostOf).filter((host) => host !== null);

  const macOf = ({ account, eventType, generation }: WebhookAddress, host: string | null, index: number): Buffer =>
    createHmac('sha256', (host === null ? atAnyHost : atOneHost)[index] ?? '')
      .update(`${host === null ? '' : `${host}/`}${account}/${eventType}/${generation}`)
      .digest();

  return {
    /** `/webhooks/<account>/<eventType>/<generation>.<mac>`, under the first key. Holds a secret: never log it. */
    pathOf(address: WebhookAddress): string {
      const host = address.publicUrl === undefined ? null : hostOf(address.publicUrl);
      const mac = macOf(address, host, 0).toString('base64url');
      return `/webhooks/${address.account}/${address.eventType}/${address.generation}.${mac}`;
    },
    /** Reads the last segment of a path. The generation if its mac was made by us under any key, else undefined. */
    readCapability(key: SubscriptionKey, capability: string, requestHost = ''): string | undefined {
      const [generation = '', mac = '', ...rest] = capability.split('.');
      if (rest.length > 0 || !generationPattern.test(generation) || !macPattern.test(mac)) return undefined;
      const given = Buffer.from(mac, 'base64url');
      const hosts = [null, ...(publicUrls.length > 0 ? ownHosts : [readHost(requestHost)])];
      const isOurs = hosts.some((host) =>
        keys.some((_, index) => timingSafeEqual(macOf({ ...key, generation }, host, index), given)),
      );
      return isOurs ? generation : undefined;
    },
  };
}

/**
 * The host of a public URL as it counts in a mac. Null for a loopback host, which has many names and which no other
 * machine can reach.
 */
const hostOf = (publicUrl: string): string | null => (isLoopbackAddress(publicUrl) ? null : new URL(publicUrl).host);

/** The same of the header `Host`. */
function readHost(header: string): string | null {
  const text = `https://${header}/`;
  const url = /^[^\s/?#@\\]+$/.test(header) && URL.canParse(text) ? new URL(text) : null;
  return url && hostOf(url.href);
}

/** 32 bytes as base64url, RFC 4648 section 5. Two bits of the last letter are unused and zero, so that a mac has one spelling. */
const macPattern = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;
