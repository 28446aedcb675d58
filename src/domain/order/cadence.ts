import type { Cadence } from '../account.js';
import { isSameStatus } from './status.js';

/** What determines the pace of reads. Instants are milliseconds since the epoch. */
export interface CadenceInput {
  status: string | null;
  /** When the run found the status. */
  since: number;
  scheduledAt: number | null;
  /** Do deliveries announce the changes of this order? */
  pushed: boolean;
  now: number;
}

/** So long before the pick-up a reserved order gets the pace of an active one: then drivers are assigned. */
const pickupNearMs = 30 * 60_000;
/** An old status is read less often: the worker sees a change late by at most a sixtieth of the status's age. */
const ageShare = 60;
const slowestActiveFactor = 6;

/** Polls that began together drift apart by up to this share of their pace. */
export const jitterShare = 0.1;

const isReserved = (status: string | null): boolean =>
  isSameStatus(status, 'Reserved') || isSameStatus(status, 'Unreserved');

function reservedMs(input: CadenceInput, cadence: Cadence): number {
  const { scheduledAt, since, now } = input;
  if (scheduledAt === null) return cadence.reservedMs;
  // Never sleeps past the moment at which the fast pace begins.
  const fastFrom = scheduledAt - pickupNearMs;
  if (now < fastFrom) return Math.max(cadence.activeMs, Math.min(cadence.reservedMs, fastFrom - now));
  // After its pick-up time it ages like an active order.
  return activeMs({ ...input, since: Math.max(since, scheduledAt) }, cadence);
}

function activeMs({ since, now }: CadenceInput, cadence: Cadence): number {
  const byAge = (now - since) / ageShare;
  return Math.max(cadence.activeMs, Math.min(byAge, cadence.activeMs * slowestActiveFactor));
}

/** Milliseconds until the next read of an order. Pure: the same input gives the same pace. */
export function nextReadMs(input: CadenceInput, cadence: Cadence): number {
  const { status, pushed } = input;
  const ownPace = isReserved(status) ? reservedMs(input, cadence) : activeMs(input, cadence);
  // Customer care takes long, and deliveries announce changes of a pushed order.
  const isSlow = pushed || isSameStatus(status, 'CareReq');
  return Math.round(isSlow ? Math.max(ownPace, cadence.pushedMs) : ownPace);
}
