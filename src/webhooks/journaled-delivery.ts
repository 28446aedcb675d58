import type { AccountName, OrderId } from '../domain/keys.js';
import type { ParkReason } from '../domain/parked-delivery.js';
import type { EventType } from '../domain/subscription.js';

/** A delivery as the journal holds it from the 2xx until Temporal has it. Never a raw body: that may hold a secret. */
export interface JournaledDelivery {
  account: AccountName;
  eventType: EventType;
  /** null: none was found in the body. */
  orderId: OrderId | null;
  /** The first 32 hex digits of SHA-256 over account, event type and raw body. */
  deliveryId: string;
  /** ISO instant. */
  receivedAt: string;
  /** What the body claims; a hint. */
  status?: string;
  /** Of the trace that it began, where traces are on. */
  traceparent?: string;
  /** Admitted by its path alone: generation and secret are checked before it is forwarded. */
  uncheckedGeneration?: string;
  /** Nobody can place it, and why. */
  parkReason?: ParkReason;
  /** JSON `{ body, headers }` (body in base64), sealed under the webhook keys with `parkedDeliveryId` as context; only
   *  where a check or a person still needs it. */
  sealed?: string;
}
