import { PublishedInstantSchema } from '../instant.js';
import * as s from '../schema.js';

/** The events that can be subscribed to, one subscription each (given). */
export const eventTypes = ['status_changed', 'business_report'] as const;

/** One of the names in `eventTypes`. */
export type EventType = (typeof eventTypes)[number];

/** Is this the name of an event that can be subscribed to? */
export const isEventType = (text: string): text is EventType => eventTypes.some((known) => known === text);

/** Must a delivery of this event type name an order? */
export const mustNameOrder: Record<EventType, boolean> = { status_changed: true, business_report: false };

/** The name of an address's generation: the part of the path that changes with each new address. */
export const generationPattern = /^[0-9a-z]{1,16}$/;

/** Its name is a number in base 36, greater than those of all earlier addresses of the subscription. */
export const numberOfGeneration = (generation: string): number => Number.parseInt(generation, 36);

const AcceptedGenerationSchema = s.answerOf({
  generation: s.matching(generationPattern, 'must be a generation'),
  // The ingress refuses deliveries from this instant on; null while no other address has replaced this one.
  until: s.nullable(PublishedInstantSchema),
  // Each `secret_id` that the service may use, sealed under the webhook keys with the subscription's id as context.
  secrets: s.listOf(s.answered()),
  // The answer with the secret may have been lost, so the ingress checks only the path.
  isSecretLost: s.flag,
});
/** One address that accepts deliveries, as the ingress needs it. */
export type AcceptedGeneration = s.Read<typeof AcceptedGenerationSchema>;

/** What the `subscription` workflow publishes in its memo: addresses, newest first; none once the subscription has ended. */
export const SubscriptionMemoSchema = s.answerOf({ accepted: s.listOf(AcceptedGenerationSchema) });
/** The memo of the `subscription` workflow. No secret is in clear. */
export type SubscriptionMemo = s.Read<typeof SubscriptionMemoSchema>;

/** The field of the memo that holds a `SubscriptionMemo`. */
export const subscriptionMemoField = 'subscription';

/** The generation of an address if it accepts deliveries now. An `unknown` one may be newer than the memo. */
export function findGeneration(
  memo: SubscriptionMemo,
  generation: string,
  now: number,
): AcceptedGeneration | 'ended' | 'unknown' {
  const found = memo.accepted.find((one) => one.generation === generation);
  if (!found) return 'unknown';
  return found.until !== null && Date.parse(found.until) <= now ? 'ended' : found;
}
