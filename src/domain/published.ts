import { parkReasons } from './delivery.js';
import { PublishedInstantSchema } from './instant.js';
import { MissedMemoSchema, type MissedNotice, missedMemoField } from './notify/notices.js';
import { type OrderTrail, OrderTrailSchema } from './order/trail.js';
import { type ParkedDelivery, ParkedDeliverySchema, parkedMemoField } from './parked.js';
import * as s from './schema.js';
import {
  eventTypes,
  type SubscriptionMemo,
  SubscriptionMemoSchema,
  subscriptionMemoField,
} from './subscription/subscription.js';

// Memos and results of runs. Any program may have started a run under such an id, so each reader answers null for a value that
// none of our runs has written.

/** The unchanged value, with any fields of a later release, if the schema can read it; otherwise null. */
const found = <T>(schema: s.Schema<unknown, unknown>, value: unknown): T | null =>
  s.readOr(schema, value, null) === null ? null : (value as T);

/** The addresses in the memo of `subscription`; null: none are published. */
export const publishedAddresses = (memo: Record<string, unknown> | undefined): SubscriptionMemo | null =>
  found(SubscriptionMemoSchema, memo?.[subscriptionMemoField]);

const parkedMemo = s.answerOf({
  ...ParkedDeliverySchema.fields,
  eventType: s.wordOf(eventTypes),
  receivedAt: PublishedInstantSchema,
  reason: s.wordOf(parkReasons),
  outcome: s.answered(),
  orderId: s.anything,
  discardReason: s.anything,
});

/** The delivery in the memo of `parkedDelivery`; null until a worker has run it. */
export const publishedDelivery = (memo: Record<string, unknown> | undefined): ParkedDelivery | null =>
  found(parkedMemo, memo?.[parkedMemoField]);

/** The notices in the memo of `notices` that may be sent again. */
export const publishedMissed = (memo: Record<string, unknown> | undefined): MissedNotice[] =>
  found(MissedMemoSchema, memo?.[missedMemoField]) ?? [];

const { account, orderId, status, terminal, deliveries } = OrderTrailSchema.fields;
// A later release may know more outcomes and sources.
const trail = s.answerOf({
  ...{ account, orderId, status, terminal, deliveries },
  outcome: s.nullable(s.answered()),
  timeline: s.listOf(s.anything),
});

/** The answer or result of `followOrder`. */
export const readTrail = (value: unknown): OrderTrail | null => found(trail, value);
