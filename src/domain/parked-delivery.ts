import type { AccountName } from './keys.js';
import type { EventType } from './subscription.js';

/** Why nobody could place a delivery. */
export const parkReasons = [
  'noOrderId',
  'orderIdUnusable',
  'otherCompany',
  'otherEventType',
  'ambiguousBody',
  'wrongSecret',
  'endedGeneration',
  'neverSubscribed',
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
  /** JSON `{ body, headers }`, sealed under the webhook keys with `parkedDeliveryId` as context. */
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
