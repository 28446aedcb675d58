import { parkReasons } from './delivery.js';
import type { OrderTrail } from './order/trail.js';
import { type ParkedDelivery, parkedMemoField } from './parked.js';
import {
  generationPattern,
  isEventType,
  type SubscriptionMemo,
  subscriptionMemoField,
} from './subscription/subscription.js';
import { readTokenLease } from './token/input.js';
import type { TokenLease } from './token/lease.js';

// Memos and results of runs with the ids of ours. Any program may have started such a run, with whatever memo, or a run of another
// type under the id; so each reader answers null for what no run of ours has written.

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = Number.isFinite;
const isList: Check = Array.isArray;
const isInstant: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** More fields may stand there: a later release may have written it. */
const fields =
  (checks: Record<string, Check>): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(checks).every(([name, check]) => check((value as Record<string, unknown>)[name]));

/** The token lease in the memo of `accessToken`; null: none is published. */
export const publishedLease = (memo: Record<string, unknown> | undefined): TokenLease | null =>
  readTokenLease(memo?.lease) ?? null;

const isGeneration: Check = (value) => typeof value === 'string' && generationPattern.test(value);
const isAccepted = fields({
  generation: isGeneration,
  until: orNull(isInstant),
  secrets: listOf(isText),
  isSecretLost: isFlag,
});
const isSubscription = fields({ accepted: listOf(isAccepted) });

/** The addresses in the memo of `subscription`; null: none are published. */
export function publishedAddresses(memo: Record<string, unknown> | undefined): SubscriptionMemo | null {
  const found = memo?.[subscriptionMemoField];
  return isSubscription(found) ? (found as SubscriptionMemo) : null;
}

const isParked = fields({
  account: isText,
  eventType: (value) => typeof value === 'string' && isEventType(value),
  deliveryId: isText,
  receivedAt: isInstant,
  reason: (value) => parkReasons.some((reason) => reason === value),
  outcome: isText,
});

/** The delivery in the memo of `parkedDelivery`; null until a worker has seen the run. */
export function publishedDelivery(memo: Record<string, unknown> | undefined): ParkedDelivery | null {
  const found = memo?.[parkedMemoField];
  return isParked(found) ? (found as ParkedDelivery) : null;
}

const isTrail = fields({
  account: isText,
  orderId: isText,
  status: orNull(isText),
  outcome: orNull(isText),
  terminal: isFlag,
  timeline: isList,
  deliveries: fields({ received: isNumber, duplicate: isNumber }),
});

/** The answer or result of `followOrder`. */
export const readTrail = (value: unknown): OrderTrail | null => (isTrail(value) ? (value as OrderTrail) : null);
