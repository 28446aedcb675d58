import type { Watch } from '../account.js';
import type { Concern, ConcernCode } from '../attention.js';
import { utcText } from '../failure-streak.js';
import { iso, readInstant, toEpoch } from '../instant.js';
import { isSameStatus, type OpenStatus, openStatuses, toOpenStatus } from './status.js';
import type { OrderLook, OrderReading } from './trail.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** When a status becomes a case for a person (assumed), as the trade goes; docs/reference/attention.md gives the reasons. */
export const defaultWatch: Watch = Object.freeze({
  stuckAfterMs: Object.freeze({
    Pending: 15 * minuteMs,
    Reserved: null, // `latePickup` covers it
    Unreserved: null,
    Routing: 30 * minuteMs,
    Confirmed: hourMs,
    Waiting: 20 * minuteMs,
    Driving: 6 * hourMs,
    CareReq: null, // `customerCare` covers it
    ActiveOrder: 6 * hourMs,
  }),
  latePickupAfterMs: 10 * minuteMs,
  customerCare: true,
});

/** No attention about rides. */
export const noWatch: Watch = Object.freeze({
  stuckAfterMs: Object.freeze(
    Object.fromEntries(openStatuses.map((status) => [status, null])) as Watch['stuckAfterMs'],
  ),
  latePickupAfterMs: null,
  customerCare: false,
});

/**
 * So long before the pick-up a status begins to count: a scheduled order may have it for days before. Null: it counts at once,
 * since the passenger is on board or customer care has the order.
 */
const countsBeforePickupMs: Record<OpenStatus, number | null> = {
  Pending: 45 * minuteMs,
  Reserved: 45 * minuteMs,
  Unreserved: 45 * minuteMs,
  Routing: 45 * minuteMs,
  Confirmed: 45 * minuteMs,
  Waiting: 0, // a driver who comes early waits
  ActiveOrder: 0,
  Driving: null,
  CareReq: null,
};

/** Not for a passenger who has been picked up, nor where a driver is there. */
const mayBeLate: Record<OpenStatus, boolean> = {
  ...{ Pending: true, Reserved: true, Unreserved: true, Routing: true, Confirmed: true },
  ...{ Waiting: false, ActiveOrder: false, Driving: false, CareReq: false },
};

/** May a pick-up of an order in this status be late? */
export function isBeforePickup(status: string): boolean {
  const open = toOpenStatus(status);
  return open !== undefined && mayBeLate[open];
}

/** The clocks of workers may differ by so much. Otherwise a concern that one worker finds would not be one for the next. */
const clocksDifferMs = minuteMs;
/** The service gives an order on demand a pick-up time, too: that of its request (published). */
const onDemandWithinMs = minuteMs;

/** An order that a read has just found open. Instants are milliseconds since the epoch. */
interface OpenOrder {
  status: OpenStatus;
  /** When the run found this status; `now` where this read has found it. */
  since: number;
  /** The pick-up; null for an order on demand. */
  pickup: number | null;
  /** When the run began to follow the order. */
  followedSince: number;
}

/** A concern, and from when on it is one. */
interface Due {
  code: ConcernCode;
  at: number;
  why: string;
}

/** What is wrong with the ride that a reading shows. `shown`: what the run shows. Status words are published and not verified, so an unknown word is never a
 *  concern by itself. */
export function concernIn(reading: OrderReading, now: number, shown: OrderLook, watch: Watch): Concern | null {
  const status = reading.terminal ? undefined : toOpenStatus(reading.status);
  if (status === undefined) return null;
  const isSame = isSameStatus(reading.status, shown.rawStatus);
  const since = isSame ? Date.parse(shown.since) : now;
  const order = { status, since, pickup: agreedPickup(reading, shown), followedSince: Date.parse(shown.followedSince) };
  // What is shown of the status before says nothing of this one.
  const shownCode = shown.attention === 'stuckInStatus' && !isSame ? null : shown.attention;
  const due = [customerCare, latePickup, stuckInStatus]
    .flatMap((find) => find(order, watch) ?? [])
    .find(({ code, at }) => now >= at - (code === shownCode ? clocksDifferMs : 0));
  if (!due) return null;
  const message = `${due.why} Ask the dispatch desk of the service about this ride; nothing needs repair here.`;
  return { code: due.code, message, since: iso(due.at) };
}

/** Would the run change, if it read this? A reading also ends the trouble that a run shows. */
export function isNews(reading: OrderReading, now: number, shown: OrderLook, watch: Watch): boolean {
  const pickup = readInstant(reading.details?.scheduledAt);
  const isMoved = pickup !== undefined && pickup !== shown.scheduledAt;
  const isOther = (concernIn(reading, now, shown, watch)?.code ?? null) !== shown.attention;
  return reading.terminal || isMoved || isOther || !isSameStatus(reading.status, shown.rawStatus);
}

/** Null for an order on demand. */
function agreedPickup({ details }: OrderReading, { scheduledAt }: OrderLook): number | null {
  const pickup = toEpoch(readInstant(details?.scheduledAt) ?? scheduledAt);
  const requestedAt = toEpoch(readInstant(details?.requestedAt) ?? null);
  const isOnDemand = pickup !== null && requestedAt !== null && pickup - requestedAt < onDemandWithinMs;
  return isOnDemand ? null : pickup;
}

function customerCare({ status, since }: OpenOrder, watch: Watch): Due | undefined {
  if (status !== 'CareReq' || !watch.customerCare) return undefined;
  return { code: 'customerCare', at: since, why: 'Customer care of the service has the order.' };
}

/** A run that begins after the pick-up time counts from its beginning. */
function latePickup({ status, pickup, followedSince }: OpenOrder, { latePickupAfterMs }: Watch): Due | undefined {
  if (pickup === null || latePickupAfterMs === null || !mayBeLate[status]) return undefined;
  const why = `The pick-up was due at ${utcText(pickup)}, and the order is still ${status}.`;
  return { code: 'latePickup', at: Math.max(pickup, followedSince) + latePickupAfterMs, why };
}

function stuckInStatus({ status, since, pickup }: OpenOrder, { stuckAfterMs }: Watch): Due | undefined {
  const afterMs = stuckAfterMs[status];
  if (afterMs === null) return undefined;
  const beforeMs = countsBeforePickupMs[status];
  const from = pickup === null || beforeMs === null ? since : Math.max(since, pickup - beforeMs);
  const at = pickup === null ? '' : `, with the pick-up at ${utcText(pickup)}`;
  const why = `The order has been ${status} since ${utcText(since)}${at}.`;
  return { code: 'stuckInStatus', at: from + afterMs, why };
}
