import type { ParkReason } from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName, DeliveryId, OrderId } from '../../domain/keys.js';
import type { EventType } from '../../domain/subscription/subscription.js';

/** A delivery as the journal holds it from the 2xx until Temporal has it. Never a raw body: that may hold a secret. */
export interface JournaledDelivery {
  account: AccountName;
  eventType: EventType;
  /** null: none was found in the body. */
  orderId: OrderId | null;
  deliveryId: DeliveryId;
  /** ISO instant. */
  receivedAt: string;
  /** What the body claims; a hint. */
  status?: string;
  /** Of the trace that it began, where traces are on. */
  traceparent?: string;
  /** Admitted by its path alone: generation and secret are checked before it is forwarded. */
  uncheckedGeneration?: string;
  /** Why it must be parked. */
  parkReason?: ParkReason;
  /** JSON `{ body, headers }` (body in base64), sealed under the webhook keys with `parkedDeliveryId` as context; only
   *  where a check or a person still needs it. */
  sealed?: string;
}

declare const brand: unique symbol;

/**
 * Names what is forwarded together: all deliveries of one event type about one order, or one delivery without an order.
 * JSON of what the keys of its entries share.
 */
export type GroupId = string & { readonly [brand]: 'GroupId' };

/**
 * `seq` grows and carries the time. It stands first, so that new entries are neighbours on the disk whatever orders they
 * are about: a commit writes few pages, however long the journal is. The order id is empty when there is none.
 */
export type JournalKey = [seq: number, account: AccountName, eventType: EventType, orderId: OrderId | ''];

/** The group that an entry belongs to. */
export function groupIdOf([seq, account, eventType, orderId]: JournalKey): GroupId {
  return JSON.stringify(orderId === '' ? [account, eventType, '', seq] : [account, eventType, orderId]) as GroupId;
}

/** The keys of entries of a group. */
export function keysOf(id: GroupId, seqs: readonly number[]): JournalKey[] {
  const [account, eventType, orderId] = JSON.parse(id) as [AccountName, EventType, OrderId | ''];
  return seqs.map((seq) => [seq, account, eventType, orderId]);
}

/** What the value of an entry holds: the delivery without what its key says. */
export function toValue({ account: _account, eventType: _type, orderId: _order, ...rest }: JournaledDelivery): Buffer {
  return Buffer.from(JSON.stringify(rest));
}

/** The inverse of `toValue`. */
export function toDelivery([, account, eventType, orderId]: JournalKey, value: Buffer): JournaledDelivery {
  const rest = JSON.parse(value.toString()) as Omit<JournaledDelivery, 'account' | 'eventType' | 'orderId'>;
  return { account, eventType, orderId: orderId === '' ? null : orderId, ...rest };
}

/** Per millisecond; times the milliseconds of the year 2200 it is below the largest exact integer. */
const seqPerMs = 1_024;

/** The next number: it never repeats, also when the clock goes back. */
export const seqAfter = (last: number, nowMs: number): number => Math.max(last + 1, nowMs * seqPerMs);

/** When the entry was made, to the millisecond. */
export const timeOf = ([seq]: JournalKey): number => Math.floor(seq / seqPerMs);

type JournalErrorCode = 'JournalFull' | 'JournalUnwritable' | 'JournalInUse';

/**
 * The journal cannot take a delivery, so there must be no 2xx. `JournalFull`: it holds as much as it may until some of it
 * is forwarded. `JournalUnwritable`: the disk refuses; it is tried again by itself. `JournalInUse`: another process has
 * it. Not for a delivery that Temporal does not take: that one is safe in the journal.
 */
export class JournalError extends FaretrailError<JournalErrorCode> {
  override readonly name = 'JournalError';
}

/** Says what a disk refused, without a path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown disk error';
  if (error instanceof FaretrailError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code; // of Node; its message holds the path
  return error.message.split(/[:\n]/)[0] ?? 'unknown disk error';
}
