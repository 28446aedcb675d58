import { createHmac } from 'node:crypto';
import type { ContractProfile } from '../contracts/contract-profile.js';
import type { AcceptedGeneration, SubscriptionMemo } from '../domain/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';

type Verification = ContractProfile['delivery']['verification'];

/** What a test delivery tells. */
export interface TestFacts extends SubscriptionKey {
  orderId: string | undefined;
  status: string | undefined;
  businessId: string | undefined;
  /** ISO instant; makes each test delivery another one. */
  timestamp: string;
}

/** A delivery as the service would send it. Holds the secret: never show it. */
export interface TestDelivery {
  headers: Record<string, string>;
  body: string;
}

/** The newest address at which a correct delivery can be made now; undefined when there is none. */
export function usableGeneration(
  { accepted }: SubscriptionMemo,
  { mode }: Verification,
  now: number,
): AcceptedGeneration | undefined {
  return accepted
    .filter(({ until }) => until === null || Date.parse(until) > now)
    .find(({ secrets, isSecretLost }) => mode === 'path' || isSecretLost || secrets.length > 0);
}

/** Writes the delivery where the profile reads it. Without a secret: for an address whose secret was lost. */
export function writeTestDelivery(
  { eventType, orderId, status, businessId, timestamp }: TestFacts,
  { pointers, delivery: { verification } }: Pick<ContractProfile, 'pointers' | 'delivery'>,
  secret: string | undefined,
): TestDelivery {
  const places: [pointer: string | undefined, value: string | undefined][] = [
    [pointers.delivery.eventType[0], eventType],
    [pointers.delivery.orderId[0], orderId],
    [pointers.delivery.status[0], status],
    [pointers.delivery.businessId[0], businessId],
    ['/timestamp', timestamp],
    [verification.mode === 'body' ? verification.pointer : undefined, secret],
  ];
  const content = places.reduce<object>(
    (body, [pointer, value]) => (pointer && value !== undefined ? withValue(body, namesIn(pointer), value) : body),
    {},
  );
  const body = JSON.stringify(content);
  return { headers: { 'content-type': 'application/json', ...proof(body, verification, secret) }, body };
}

function proof(body: string, verification: Verification, secret: string | undefined): Record<string, string> {
  if (secret === undefined) return {};
  if (verification.mode === 'header') return { [verification.name]: secret };
  if (verification.mode !== 'hmac') return {};
  const { header, algorithm, encoding, prefix } = verification;
  return { [header]: `${prefix}${createHmac(algorithm, secret).update(body).digest(encoding)}` };
}

// RFC 6901 section 4: ~1 before ~0.
const namesIn = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

function withValue(parent: object, [name = '', ...rest]: readonly string[], value: string): object {
  if (rest.length === 0) return { ...parent, [name]: value };
  const child: unknown = (parent as Record<string, unknown>)[name];
  return { ...parent, [name]: withValue(typeof child === 'object' && child !== null ? child : {}, rest, value) };
}
