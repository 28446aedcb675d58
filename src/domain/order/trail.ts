import { type Attention, AttentionSchema } from '../attention.js';
import { DeliveryCountsSchema, type DeliveryNotice } from '../delivery.js';
import { readInstant } from '../instant.js';
import type { AccountName, OrderId } from '../keys.js';
import { attentionLines, cell, second, tableOf } from '../markdown.js';
import * as s from '../schema.js';
import { defaultFollowForMs, type FollowOrderInput, maxFollowForMs } from './input.js';
import { isSameStatus, toRideStatus } from './status.js';

/** What one read of an order said, in our words. */
export interface OrderReading {
  status: string;
  rawStatus: string;
  terminal: boolean;
  /** Times, supplier and vehicle, where the service sent them; who the driver is only while payloads are encrypted. */
  details: Record<string, unknown> | null;
}

/** What a look at an order needs to know of the run that looks. Instants are ISO 8601 UTC. */
export interface LookInput {
  account: AccountName;
  orderId: OrderId;
  /** What the run shows now: a look that finds nothing else has nothing to tell. */
  shown: { rawStatus: string | null; attention: Attention['code'] | null };
  /** Since when that status stands; the start of the run before the first read. */
  since: string;
  scheduledAt: string | null;
  /** Deliveries announce its changes: the status may be another by the time of a poll, which asks the run for it. */
  pushed: boolean;
  /** No request to the service before this instant (its own `Retry-After`, or our back-off). */
  notBefore: string | null;
  /** Nobody but the caller vouches for the order: not read yet, named by no delivery, made by no ride. */
  mayBeUnknown: boolean;
  /** A person asked for this read and waits for it: it goes ahead of all waits, once a minute for each account. */
  forPerson?: boolean;
  /** Of the deliveries that led to the look, newest last, where traces are on. */
  traceparents?: string[];
}

/**
 * What a look found. `reads` counts the reads behind it; `gapMs` is the time since the read before, in which the change
 * must have come about; `runLength`, of a poll that asked the run what it shows: how many events that had then.
 */
export type OrderObservation =
  | { kind: 'reading'; reading: OrderReading; at: string; reads: number; gapMs?: number; runLength?: number }
  | { kind: 'trouble'; attention: Attention; notBefore: string; reads: number }
  | { kind: 'unknownOrder'; reads: number };

/** How the following of an order ended. */
export const outcomes = ['completed', 'cancelled', 'rejected', 'stopped', 'expired'] as const;
/** One of `outcomes`. */
export type Outcome = (typeof outcomes)[number];

/** What a `notify` signal carries: each change of the status, and the end. */
export const OrderChangeSchema = s.answerOf({
  account: s.answered<AccountName>(),
  orderId: s.answered<OrderId>(),
  reference: s.absentOr(s.answered()),
  status: s.nullable(s.answered(), 'Null before the first read.'),
  rawStatus: s.nullable(s.answered(), 'As it came.'),
  since: s.answered('When we found the status.'),
  terminal: s.flag,
  outcome: s.nullable(s.wordOf(outcomes), 'Null while the order is followed.'),
});
/** The part of a trail that others are told of. `since` is the start of the run before the first read. */
export type OrderChange = s.Read<typeof OrderChangeSchema>;

/** Body of the request that a `notify` URL gets. */
export const OrderEventSchema = s.answerOf({
  type: s.wordOf(['order.changed', 'order.ended']),
  ...OrderChangeSchema.fields,
});
/** What a URL is told. */
export type OrderEvent = s.Read<typeof OrderEventSchema>;

/** One observation that changed something. `at` is an ISO instant: when we saw it. */
const TimelineEntrySchema = s.answerOf({
  status: s.answered(),
  rawStatus: s.answered(),
  at: s.answered(),
  source: s.wordOf(['read', 'delivery']),
});
/** One observation that changed something. */
export type TimelineEntry = s.Read<typeof TimelineEntrySchema>;

/** The durable record of a followed order: the result of `followOrder`, the answer to its query and its updates. */
export const OrderTrailSchema = s.answerOf({
  ...OrderChangeSchema.fields,
  timeline: s.described(s.listOf(TimelineEntrySchema), 'Newest last, the last 200.'),
  deliveries: DeliveryCountsSchema,
  // Reads that the run has heard of: a waiting poll tells its count when it ends with a change.
  reads: s.wholeNumber(),
  pushed: s.described(s.flag, 'Do deliveries announce the changes of this order?'),
  attention: s.nullable(AttentionSchema),
  details: s.nullable(s.anyObject()),
});
/** The durable record of a followed order. */
export type OrderTrail = s.Read<typeof OrderTrailSchema>;

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

/** The part of a trail that others are told of. */
export function toOrderChange(trail: OrderTrail): OrderChange {
  const { account, orderId, status, rawStatus, since, terminal, outcome } = trail;
  const reference = trail.reference === undefined ? {} : { reference: trail.reference };
  return { account, orderId, ...reference, status, rawStatus, since, terminal, outcome };
}

/** Is this a change for those who were told `last`? */
export const isChange = (change: OrderChange, last: OrderChange | null): boolean =>
  change.outcome !== (last?.outcome ?? null) || change.rawStatus !== (last?.rawStatus ?? null);

/** The same change as the body of a request. */
export const toOrderEvent = (change: OrderChange): OrderEvent => ({
  type: change.outcome === null ? 'order.changed' : 'order.ended',
  ...change,
});

/** How a change was found. Instants are ISO 8601 UTC. */
export interface FoundChange {
  seen: OrderObservation;
  /** The deliveries that led to the look; none for a poll. */
  claims: readonly DeliveryNotice[];
  /** When the run had read the order before; null: it has not, or trouble came between. */
  lastReadAt: string | null;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * How late a change was seen at most, in milliseconds: since the first of its deliveries came in, or since the look before,
 * be it another attempt of the poll or another read of the run. Undefined when there was none.
 */
export function statusLagMs({ seen, claims, lastReadAt, now }: FoundChange): number | undefined {
  if (claims.length > 0) return notNegative(now - Math.min(...claims.map(({ receivedAt }) => Date.parse(receivedAt))));
  if (seen.kind !== 'reading') return undefined;
  if (lastReadAt === null) return seen.gapMs;
  return notNegative(Math.min(Date.parse(seen.at) - Date.parse(lastReadAt), seen.gapMs ?? Infinity));
}

/** The clock of another process may go ahead. */
const notNegative = (ms: number): number => Math.max(0, ms);

const shownEntries = 50;
const maxUndelivered = 20;

/** The trail as Markdown for the Temporal UI: where the order stands, what needs a person, and its timeline. */
export function describeTrail(trail: OrderTrail, undelivered: string[] = []): string {
  const { attention, deliveries, outcome } = trail;
  const head = [
    `**${cell(trail.status ?? 'not read yet')}** since ${second(trail.since)} UTC`,
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(trail.reference === undefined ? [] : [`reference ${cell(trail.reference)}`]),
  ].join(', ');
  const shown = trail.timeline.slice(-shownEntries);
  const rows = shown.map(({ at, status, source }) => [second(at), cell(status), source]);
  return [
    head,
    ...attentionLines(attention),
    ...undelivered.slice(0, maxUndelivered).map((line) => `Not notified: ${cell(line)}`),
    tableOf(['seen at (UTC)', 'status', 'seen by'], rows),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${trail.reads}.`,
  ].join('\n\n');
}
