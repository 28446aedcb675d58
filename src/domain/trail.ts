import type { Attention } from './attention.js';
import { defaultFollowForMs, type FollowOrderInput, maxFollowForMs, readInstant } from './follow-input.js';
import type { AccountName, OrderId } from './keys.js';
import type { DeliveryNotice } from './notices.js';
import type { OrderObservation } from './observation.js';
import { isSameStatus, toRideStatus } from './ride-status.js';

export type Outcome = 'completed' | 'cancelled' | 'rejected' | 'stopped' | 'expired';

/** One observation that changed something. `at` is an ISO instant: when we saw it. */
export interface TimelineEntry {
  status: string;
  rawStatus: string;
  at: string;
  source: 'read' | 'delivery';
}

/** The durable record of a followed order; the result of `followOrder` and the answer to `orderTrail`. */
export interface OrderTrail {
  account: AccountName;
  orderId: OrderId;
  reference?: string;
  /** Null before the first read. */
  status: string | null;
  rawStatus: string | null;
  /** When the status was found; the start of the run before the first read. */
  since: string;
  terminal: boolean;
  outcome: Outcome | null;
  /** Newest last, the last 200. */
  timeline: TimelineEntry[];
  deliveries: { received: number; duplicate: number };
  /** Reads that the run has heard of: a waiting poll tells its count when it ends with a change. */
  reads: number;
  /** Do deliveries announce the changes of this order? */
  pushed: boolean;
  attention: Attention | null;
  details: Record<string, unknown> | null;
}

const maxTimeline = 200;

/** The trail of an order that nobody has read yet. */
export function openTrail(input: FollowOrderInput, now: string): OrderTrail {
  return {
    account: input.account,
    orderId: input.orderId,
    ...(input.reference === undefined ? {} : { reference: input.reference }),
    status: null,
    rawStatus: null,
    since: now,
    terminal: false,
    outcome: null,
    timeline: [],
    deliveries: { received: 0, duplicate: 0 },
    reads: 0,
    pushed: false,
    attention: null,
    details: null,
  };
}

/** The trail with the reference that its run has come to know. */
export const withReference = (trail: OrderTrail, { reference }: FollowOrderInput): OrderTrail =>
  reference === undefined ? trail : { ...trail, reference };

const withEntries = (trail: OrderTrail, entries: TimelineEntry[]): TimelineEntry[] =>
  [...trail.timeline, ...entries].slice(-maxTimeline);

/** What a terminal status means for the caller. A terminal word that only the contract profile knows counts as completed. */
function outcomeOf(status: string): Outcome {
  if (isSameStatus(status, 'Cancelled')) return 'cancelled';
  return isSameStatus(status, 'Rejected') ? 'rejected' : 'completed';
}

/** Claims of deliveries that no read has seen: a status that came and went between two reads. */
function unseenClaims(trail: OrderTrail, claims: DeliveryNotice[], readStatus: string): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  const isKnown = (status: string): boolean =>
    isSameStatus(status, readStatus) ||
    [...trail.timeline, ...entries].some((entry) => isSameStatus(entry.status, status));
  for (const { status: rawStatus, receivedAt } of claims) {
    if (rawStatus === undefined || isKnown(rawStatus)) continue;
    entries.push({ status: toRideStatus(rawStatus), rawStatus, at: receivedAt, source: 'delivery' });
  }
  return entries;
}

/** Trouble that is found again by another look goes on, it does not begin. */
const since = (before: Attention | null, now: Attention): Attention =>
  before?.code === now.code ? { ...now, since: before.since } : now;

/**
 * The trail after a look. A reading clears the attention, and moves the status when it says something new; trouble sets
 * the attention and leaves the status. `claims` are the deliveries that a reading answers; `isAnnounced`: a delivery has come,
 * even if it did not lead to this look.
 */
export function recordObservation(
  trail: OrderTrail,
  seen: OrderObservation,
  claims: DeliveryNotice[],
  isAnnounced = claims.length > 0,
): OrderTrail {
  const reads = trail.reads + seen.reads;
  if (trail.terminal) return { ...trail, reads };
  if (seen.kind === 'unknownOrder') return { ...trail, reads };
  if (seen.kind === 'trouble') return { ...trail, reads, attention: since(trail.attention, seen.attention) };
  const { reading, at } = seen;
  const claimed = unseenClaims(trail, claims, reading.status);
  const calm: OrderTrail = {
    ...trail,
    reads,
    attention: null,
    details: reading.details ?? trail.details,
    timeline: withEntries(trail, claimed),
  };
  const { status, rawStatus, terminal } = reading;
  const outcome = terminal ? outcomeOf(status) : null;
  if (isSameStatus(trail.status, status)) return { ...calm, terminal, outcome };
  return {
    ...calm,
    status,
    rawStatus,
    since: at,
    terminal,
    outcome,
    timeline: withEntries(calm, [{ status, rawStatus, at, source: 'read' }]),
    // A change that a poll found first was not announced: polls must be fast again.
    pushed: trail.pushed && isAnnounced,
  };
}

/** The pick-up time: what the service said last wins over what the caller said, since an order can be moved. */
export function scheduledAt(input: FollowOrderInput, trail: OrderTrail): string | null {
  return readInstant(trail.details?.scheduledAt) ?? input.scheduledAt ?? null;
}

/** When following ends without an end of the order, in milliseconds since the epoch. */
export function expiresAt(input: FollowOrderInput, trail: OrderTrail, startedAt: string): number {
  const pickup = scheduledAt(input, trail);
  const start = Date.parse(startedAt);
  // A pick-up beyond that is a mistake, and no timer runs for thousands of years.
  const from = Math.max(start, Math.min(pickup === null ? 0 : Date.parse(pickup), start + maxFollowForMs));
  return from + (input.followForMs ?? defaultFollowForMs);
}
