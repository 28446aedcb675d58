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
  /** How far the account's deliveries have earned the stretch, 0 to 1; absent: not at all. */
  earned?: number;
  /** Does the order still have the status with which it was first read? Then no change of it has failed to be announced. */
  isUnchanged?: boolean;
  /** For so long time alone raises no concern about the ride; absent: for ever. */
  calmMs?: number;
}

/** So long before the pick-up a reserved order gets the pace of an active one: then drivers are assigned. */
const pickupNearMs = 30 * 60_000;
/** An old status is read less often: the worker sees a change late by at most a sixtieth of the status's age. */
const ageShare = 60;
const slowestActiveFactor = 6;

/** Looks that began together drift apart by up to this share of their pace. */
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

/** How long the pick-up leaves polls rare: they have their usual pace from half an hour before it until it is over. */
function toPickupMs({ scheduledAt, now }: CadenceInput): number {
  if (scheduledAt === null || now > scheduledAt) return Infinity;
  return Math.max(0, scheduledAt - pickupNearMs - now);
}

/** The pace of a pushed order, stretched as far as it is proven that a delivery announces its next change. */
function stretched(usualMs: number, input: CadenceInput, { pushedMs, provenMs = pushedMs }: Cadence): number {
  const { earned = 0, calmMs = Infinity } = input;
  const earnedMs = pushedMs + (provenMs - pushedMs) * earned;
  return Math.max(usualMs, Math.min(earnedMs, calmMs, toPickupMs(input)));
}

/** Milliseconds until the next read of an order. Pure: the same input gives the same pace. */
export function nextReadMs(input: CadenceInput, cadence: Cadence): number {
  const { status, pushed, earned = 0, isUnchanged = false } = input;
  const ownPace = isReserved(status) ? reservedMs(input, cadence) : activeMs(input, cadence);
  // Customer care takes long, and deliveries announce changes of a pushed order. Where that is proven, they most likely will of a new one.
  const slow = pushed || isSameStatus(status, 'CareReq') || (status !== null && isUnchanged && earned > 0);
  const usual = slow ? Math.max(ownPace, cadence.pushedMs) : ownPace;
  return Math.round(pushed ? stretched(usual, input, cadence) : usual);
}
