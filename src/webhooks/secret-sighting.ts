import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../contracts/json.js';
import { type DeliverySecret, hmacOf, isSecret, type Proof } from './verification.js';

/** Where a delivery may carry its secret. */
export const secretPlaces = ['header', 'body', 'hmac', 'none'] as const;

/** One of `secretPlaces`. */
export type SecretPlace = (typeof secretPlaces)[number];

/** Where the ingress saw the secret of a delivery, so that an operator can choose the mode. Never the secret itself. */
export interface SecretSighting {
  place: SecretPlace;
  /** The name of the header, or the pointer into the body; empty for `none`. */
  at: string;
  /** The encoding of the mac. */
  encoding?: 'hex' | 'base64';
  /** The text before the mac. */
  prefix?: string;
}

/** The first deliveries of an address show where its secret is; later ones show whether that is still so. */
const alwaysFirst = 20;
const thenOneIn = 1_000;
/** Bounds of the search, so that no body makes it expensive. */
const maxHeaders = 50;
const maxValues = 1_000;
const maxDepth = 6;
const maxLength = 512;
const maxAddresses = 1_000;

/** Chooses the deliveries of each address that the ingress searches. */
export function createSampling(): (address: string) => boolean {
  const seen = new Map<string, number>();
  return (address) => {
    if (seen.size >= maxAddresses && !seen.has(address)) seen.clear();
    const before = seen.get(address) ?? 0;
    seen.set(address, before + 1);
    return before < alwaysFirst || before % thenOneIn === 0;
  };
}

/** Looks for the secrets in headers and body, and for their macs of the raw body. Gives the first place. */
export function findSecret({ headers, rawBody, body }: Proof, secrets: readonly DeliverySecret[]): SecretSighting {
  for (const secret of secrets) {
    const sighting =
      findInHeaders(headers, secret) ?? findInBody(body, secret) ?? findMac(headers, hmacOf(rawBody, secret));
    if (sighting) return sighting;
  }
  return { place: 'none', at: '' };
}

function* shortHeaders(headers: IncomingHttpHeaders): Iterable<[name: string, value: string]> {
  for (const [name, value] of Object.entries(headers).slice(0, maxHeaders))
    if (typeof value === 'string' && value.length <= maxLength) yield [name, value];
}

function findInHeaders(headers: IncomingHttpHeaders, secret: DeliverySecret): SecretSighting | undefined {
  for (const [name, value] of shortHeaders(headers)) if (isSecret(value, secret)) return { place: 'header', at: name };
  return undefined;
}

/** Breadth first and without recursion. */
function findInBody(body: JsonObject, secret: DeliverySecret): SecretSighting | undefined {
  const queue: { value: unknown; at: string; depth: number }[] = [{ value: body, at: '', depth: 0 }];
  for (let index = 0; index < queue.length && index < maxValues; index += 1) {
    const { value, at, depth } = queue[index] ?? { value: null, at: '', depth: 0 };
    if (typeof value === 'string' && value.length === secret.bytes.length && isSecret(value, secret))
      return { place: 'body', at: shownPointer(at) };
    if (typeof value !== 'object' || value === null || depth >= maxDepth) continue;
    for (const key in value) {
      if (queue.length >= maxValues) break;
      queue.push({ value: (value as JsonObject)[key], at: `${at}/${key}`, depth: depth + 1 });
    }
  }
  return undefined;
}

/** The sender chose the names in a pointer, so only plain names are shown. */
const shownPointer = (pointer: string): string =>
  /^(\/[\w-]{1,40})+$/.test(pointer) ? pointer : 'under a name that is not shown';

function findMac(headers: IncomingHttpHeaders, mac: Buffer): SecretSighting | undefined {
  for (const [name, value] of shortHeaders(headers)) {
    const prefix = /^[a-z0-9]{1,20}=(?=.)/i.exec(value)?.[0] ?? '';
    for (const encoding of ['hex', 'base64'] as const) {
      const given = Buffer.from(value.slice(prefix.length), encoding);
      if (given.length === mac.length && timingSafeEqual(given, mac))
        return { place: 'hmac', at: name, encoding, prefix };
    }
  }
  return undefined;
}
