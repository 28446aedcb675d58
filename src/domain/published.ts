import { parkReasons } from './delivery.js';
import { PublishedInstantSchema } from './instant.js';
import { type OrderTrail, OrderTrailSchema } from './order/trail.js';
import { type ParkedDelivery, ParkedDeliverySchema, parkedMemoField } from './parked.js';
import * as s from './schema.js';
import {
  eventTypes,
  generationPattern,
  type SubscriptionMemo,
  subscriptionMemoField,
} from './subscription/subscription.js';
import { readTokenLease, type TokenLease } from './token/lease.js';

// Memos and results of runs with the ids of ours. Any program may have started such a run, with whatever memo, or a run of another
// type under the id; so each reader answers null for what no run of ours has written.

/** The value as it is, with the fields of a later release, where the schema can read it; null elsewhere. */
function found<T>(schema: s.Schema<unknown, unknown>, value: unknown): T | null {
  try {
    schema.read(value, '');
    return value as T;
  } catch {
    return null;
  }
}

/** The token lease in the memo of `accessToken`; null: none is published. */
export const publishedLease = (memo: Record<string, unknown> | undefined): TokenLease | null =>
  readTokenLease(memo?.lease) ?? null;

const subscriptionMemo = s.answerOf({
  accepted: s.listOf(
    s.answerOf({
      generation: s.matching(generationPattern, 'must be a generation'),
      until: s.nullable(PublishedInstantSchema),
      secrets: s.listOf(s.answered()),
      isSecretLost: s.flag,
    }),
  ),
});

/** The addresses in the memo of `subscription`; null: none are published. */
export const publishedAddresses = (memo: Record<string, unknown> | undefined): SubscriptionMemo | null =>
  found(subscriptionMemo, memo?.[subscriptionMemoField]);

const parkedMemo = s.answerOf({
  ...ParkedDeliverySchema.fields,
  eventType: s.wordOf(eventTypes),
  receivedAt: PublishedInstantSchema,
  reason: s.wordOf(parkReasons),
  outcome: s.answered(),
  orderId: s.anything,
  discardReason: s.anything,
});

/** The delivery in the memo of `parkedDelivery`; null until a worker has seen the run. */
export const publishedDelivery = (memo: Record<string, unknown> | undefined): ParkedDelivery | null =>
  found(parkedMemo, memo?.[parkedMemoField]);

const { account, orderId, status, terminal, deliveries } = OrderTrailSchema.fields;
// A later release may know more outcomes and sources.
const trail = s.answerOf({
  ...{ account, orderId, status, terminal, deliveries },
  outcome: s.nullable(s.answered()),
  timeline: s.listOf(s.anything),
});

/** The answer or result of `followOrder`. */
export const readTrail = (value: unknown): OrderTrail | null => found(trail, value);
