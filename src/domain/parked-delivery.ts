import type { AccountName, OrderId } from './keys.js';
import type { EventType } from './subscription.js';

/** Why nobody could place a delivery; the last two: how the following of its order ended leaves that to a person. */
export const parkReasons = [
  'noOrderId',
  'orderIdUnusable',
  'otherCompany',
  'otherEventType',
  'ambiguousBody',
  'wrongSecret',
  'endedGeneration',
  'neverSubscribed',
  'followingStopped',
  'endUnreadable',
] as const;

/** One of the words in `parkReasons`. */
export type ParkReason = (typeof parkReasons)[number];

/** Input of the workflow `parkedDelivery`: all that was kept of a delivery, its content sealed. */
export interface ParkedDeliveryInput {
  account: AccountName;
  eventType: EventType;
  /** 32 hex digits. */
  deliveryId: string;
  /** ISO instant. */
  receivedAt: string;
  reason: ParkReason;
  /** The order that it names; only with the last two reasons. */
  aboutOrderId?: OrderId;
  /** JSON `{ body, headers }`, sealed under the webhook keys with `parkedDeliveryId` as context. Empty where nothing was kept of a
   *  delivery that names its order. */
  sealed: string;
}

/** Answer of the query `parkedDelivery`, and the result of the run. */
export interface ParkedDelivery extends Omit<ParkedDeliveryInput, 'sealed'> {
  /** What became of it. */
  outcome: 'waiting' | 'routed' | 'discarded';
  /** The order that it was routed to. */
  orderId: string | null;
  /** Why it was discarded, in the operator's words. */
  discardReason: string | null;
}
