import type { Cadence } from '../account.js';
import { isSameStatus } from './status.js';

/** What the pace of reading depends on. Instants are milliseconds since the epoch. */
export interface CadenceInput {
  status: string | null;
  /** Since when the status stands. */
  since: number;
  scheduledAt: number | null;
  /** Do deliveries announce the changes of this order? */
  pushed: boolean;
  now: number;
}

/** Half an hour before the pick-up a reserved order is read like an active one: that is when drivers are assigned. */
const pickupNearMs = 30 * 60_000;
/** A status that has stood for long is read less often: a change is seen late by at most a sixtieth of that time. */
const ageShare = 60;
const slowestActiveFactor = 6;

const isReserved = (status: string | null): boolean =>
  isSameStatus(status, 'Reserved') || isSameStatus(status, 'Unreserved');

function reservedMs(input: CadenceInput, cadence: Cadence): number {
  const { scheduledAt, since, now } = input;
  if (scheduledAt === null) return cadence.reservedMs;
  // Never sleeps past the moment at which the fast pace begins.
  const fastFrom = scheduledAt - pickupNearMs;
  if (now < fastFrom) return Math.max(cadence.activeMs, Math.min(cadence.reservedMs, fastFrom - now));
  // Past its pick-up it ages like any other.
  return activeMs({ ...input, since: Math.max(since, scheduledAt) }, cadence);
}

function activeMs({ since, now }: CadenceInput, cadence: Cadence): number {
  const byAge = (now - since) / ageShare;
  return Math.max(cadence.activeMs, Math.min(byAge, cadence.activeMs * slowestActiveFactor));
}

/** Milliseconds until the next read of an order. Pure: the same input gives the same pace. */
export function nextReadMs(input: CadenceInput, cadence: Cadence): number {
  const ownPace = isReserved(input.status) ? reservedMs(input, cadence) : activeMs(input, cadence);
  // Customer care takes its time; the slow pace also serves where deliveries announce changes.
  const slow = input.pushed || isSameStatus(input.status, 'CareReq');
  return Math.round(slow ? Math.max(ownPace, cadence.pushedMs) : ownPace);
}
