import type { AccountName, OrderId } from '../domain/keys.js';
import type { EventType } from '../domain/subscription.js';
import type { JournaledDelivery } from './journaled-delivery.js';

declare const brand: unique symbol;

/**
 * Names what is forwarded together: all deliveries of one event type about one order, or one delivery without an order.
 * JSON of the front of a `JournalKey`.
 */
export type GroupId = string & { readonly [brand]: 'GroupId' };

/** Entries of one order are neighbours. The order id is empty when there is none; `seq` grows and carries the time. */
export type JournalKey = [account: AccountName, eventType: EventType, orderId: OrderId | '', seq: number];

type Front = [account: AccountName, eventType: EventType, orderId: OrderId | '', seq?: number];

/** The group that an entry belongs to. */
export function groupIdOf([account, eventType, orderId, seq]: JournalKey): GroupId {
  return JSON.stringify(orderId === '' ? [account, eventType, orderId, seq] : [account, eventType, orderId]) as GroupId;
}

/** The inverse of `groupIdOf`, as far as a group's entries share their key. */
export const fromGroupId = (id: GroupId): Front => JSON.parse(id) as Front;

/** The first and the last key that a group may hold. */
export function keysOfGroup(id: GroupId): { first: JournalKey; last: JournalKey } {
  const [account, eventType, orderId, seq] = fromGroupId(id);
  const at = (edge: number): JournalKey => [account, eventType, orderId, seq ?? edge];
  return { first: at(0), last: at(Number.MAX_SAFE_INTEGER) };
}

/** What the value of an entry holds: the delivery without what its key says. */
export function toValue({ account: _account, eventType: _type, orderId: _order, ...rest }: JournaledDelivery): Buffer {
  return Buffer.from(JSON.stringify(rest));
}

/** The inverse of `toValue`. */
export function toDelivery([account, eventType, orderId]: JournalKey, value: Buffer): JournaledDelivery {
  const rest = JSON.parse(value.toString()) as Omit<JournaledDelivery, 'account' | 'eventType' | 'orderId'>;
  return { account, eventType, orderId: orderId === '' ? null : orderId, ...rest };
}

/** Per millisecond; times the milliseconds of the year 2200 it is below the largest exact integer. */
export const seqPerMs = 1_024;

/** When the entry was made, to the millisecond. */
export const timeOf = (seq: number): number => Math.floor(seq / seqPerMs);
