import type { DeliveryNotice, ParkReason } from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName, DeliveryId, OrderId } from '../../domain/keys.js';
import type { EventType } from '../../domain/subscription/subscription.js';

/** A delivery as the journal holds it from the 2xx until Temporal has it: what its run gets, and what the ingress needs for that. Never a raw
 *  body: that may hold a secret. */
export interface JournaledDelivery extends DeliveryNotice {
  account: AccountName;
  eventType: EventType;
  /** null: the body names none. */
  orderId: OrderId | null;
  deliveryId: DeliveryId;
  /** Set if the ingress admitted the delivery by its path alone. It checks generation and secret before it forwards the delivery. */
  uncheckedGeneration?: string;
  /** Why the ingress must park it. */
  parkReason?: ParkReason;
  /** JSON `{ body, headers }` (body in base64), sealed under the webhook keys with `parkedDeliveryId` as context. Kept only
   *  for a later check or a person. */
  sealed?: string;
}

declare const brand: unique symbol;

/** Names deliveries that the ingress forwards together: all of one event type about one order, or one without an order. */
export type GroupId = string & { readonly [brand]: 'GroupId' };

/**
 * `seq` grows and carries the time. It comes first, so that new entries are neighbours on the disk and a commit writes few
 * pages. The order id is empty if the delivery names no order.
 */
export type JournalKey = [seq: number, account: AccountName, eventType: EventType, orderId: OrderId | ''];

/** The group of an entry. */
export function groupIdOf([seq, account, eventType, orderId]: JournalKey): GroupId {
  return JSON.stringify(orderId === '' ? [account, eventType, '', seq] : [account, eventType, orderId]) as GroupId;
}

/** The value of an entry: the delivery without the parts in its key. */
export function toValue({ account: _account, eventType: _type, orderId: _order, ...rest }: JournaledDelivery): Buffer {
  return Buffer.from(JSON.stringify(rest));
}

/** The inverse of `toValue`. */
export function toDelivery([, account, eventType, orderId]: JournalKey, value: Buffer): JournaledDelivery {
  const rest = JSON.parse(value.toString()) as Omit<JournaledDelivery, 'account' | 'eventType' | 'orderId'>;
  return { account, eventType, orderId: orderId === '' ? null : orderId, ...rest };
}

/** Numbers per millisecond. Those of the year 2200 are still below the largest exact integer. */
const seqPerMs = 1_024;

/** The next number. It never repeats, even if the clock goes back. */
export const seqAfter = (last: number, nowMs: number): number => Math.max(last + 1, nowMs * seqPerMs);

/** When the entry was made, to the millisecond. */
export const timeOf = ([seq]: JournalKey): number => Math.floor(seq / seqPerMs);

type JournalErrorCode = 'JournalFull' | 'JournalUnwritable' | 'JournalInUse';

/**
 * The journal cannot take a delivery, so the ingress must not answer 2xx. `JournalFull`: the journal has reached its limit
 * until the ingress forwards some of it. `JournalUnwritable`: the disk refuses, and the journal tries again. `JournalInUse`:
 * another process has the journal. Not for a delivery that Temporal does not take: that one is safe in the journal.
 */
export class JournalError extends FaretrailError<JournalErrorCode> {
  override readonly name = 'JournalError';
}

/** Says what a disk refused, without a path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown disk error';
  if (error instanceof FaretrailError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code; // Node's message would hold the path
  return error.message.split(/[:\n]/)[0] ?? 'unknown disk error';
}
