/** The events that can be subscribed to, one subscription each (given). */
export const eventTypes = ['status_changed', 'business_report'] as const;

/** One of the names in `eventTypes`. */
export type EventType = (typeof eventTypes)[number];

/** Is this the name of an event that can be subscribed to? */
export const isEventType = (text: string): text is EventType => eventTypes.some((known) => known === text);

/** Must a delivery of this event type name an order? A report can stand for itself. */
export const mustNameOrder: Record<EventType, boolean> = { status_changed: true, business_report: false };

/** What a generation of an address is called: letters of the path that change with each new address. */
export const generationPattern = /^[0-9a-z]{1,16}$/;

/** One address at which deliveries are taken, as the ingress has to know it. */
export interface AcceptedGeneration {
  /** Matches `generationPattern`. */
  generation: string;
  /** ISO instant from which it is refused; null while nothing has replaced it. */
  until: string | null;
  /** Each `secret_id` that the service may use there, sealed under the webhook keys with the subscription's id as context. */
  secrets: string[];
  /** The answer that told the secret may have been lost, so the path alone must do. */
  isSecretLost: boolean;
}

/** What the `subscription` workflow publishes in its memo, under this name. No secret is in clear. */
export interface SubscriptionMemo {
  /** Newest first. Empty once the subscription has ended: nothing is accepted any more. */
  accepted: AcceptedGeneration[];
}

/** The field of the memo that holds a `SubscriptionMemo`. */
export const subscriptionMemoField = 'subscription';

/** How a delivery at this address is judged now. `unknown` may be a generation younger than what the reader knows. */
export function findGeneration(
  memo: SubscriptionMemo,
  generation: string,
  now: number,
): AcceptedGeneration | 'ended' | 'unknown' {
  const found = memo.accepted.find((one) => one.generation === generation);
  if (!found) return 'unknown';
  return found.until !== null && Date.parse(found.until) <= now ? 'ended' : found;
}
