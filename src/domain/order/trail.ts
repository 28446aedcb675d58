import { type Attention, AttentionSchema, type Concern, toConcern, troubleCodes } from '../attention.js';
import { DeliveryCountsSchema, type DeliveryNotice } from '../delivery.js';
import type { FailureStreak } from '../failure-streak.js';
import { readInstant } from '../instant.js';
import type { AccountName, OrderId } from '../keys.js';
import { attentionLines, cell, second, tableOf } from '../markdown.js';
import * as s from '../schema.js';
import { defaultFollowForMs, type FollowOrderInput, maxFollowForMs } from './input.js';
import { isSameStatus, statusKey, toKnownStatus } from './status.js';

/** What one read of an order found. */
export interface OrderReading {
  status: string;
  rawStatus: string;
  terminal: boolean;
  /** Times and supplier, if the service sent them; driver and vehicle only while payloads are encrypted. */
  details: Record<string, unknown> | null;
}

/** Who says that there is such an order, besides the caller who wants it followed. `delivery`: a stranger may have sent it. `provenDelivery`: one with a valid signature. */
export type Vouching = 'nobody' | 'delivery' | 'provenDelivery' | 'rideOrRead';

/** What the run of an order shows when an activity looks at the order for it. Instants are ISO 8601 UTC. */
export interface OrderLook {
  account: AccountName;
  orderId: OrderId;
  /** The status in our words, which the next reading is compared with (the name is that of release 0.1.0). Null before the first read. */
  rawStatus: string | null;
  attention: Attention['code'] | null;
  /** When the run found that status; the start of the run before the first read. */
  since: string;
  scheduledAt: string | null;
  followedSince: string;
}

/** The input of `readOrder`. */
export interface ReadOrderInput extends OrderLook {
  /** No request before this instant, because of a `Retry-After` of the service or our back-off. */
  notBefore: string | null;
  vouching: Vouching;
  /** The trouble of the watch, if that led to this read. */
  streak: FailureStreak | null;
  /** Has the run handed its order to the watch of the account? */
  isWatched: boolean;
  /** A person waits for this read: it is sent at once, during any wait of the account or the order. */
  forPerson: boolean;
}

/**
 * The result of `readOrder`, which alone moves the status. `reads`: its number of requests. `brief`: a caller waits for
 * the read, and the trouble has not lasted yet.
 */
export type OrderObservation =
  | { kind: 'reading'; reading: WatchedReading; at: string; reads: number; stores?: true }
  | { kind: 'trouble'; attention: Attention; notBefore: string; reads: number; brief?: FailureStreak }
  | { kind: 'unknownOrder'; reads: number };

/** A reading, with what is wrong with the ride. */
export interface WatchedReading extends OrderReading {
  concern: Concern | null;
}

/** How the following of an order ended. */
export const outcomes = ['completed', 'cancelled', 'rejected', 'stopped', 'expired'] as const;
/** One of `outcomes`. */
export type Outcome = (typeof outcomes)[number];

/** The payload of a `notify` signal: each change of the status, attention about the ride that comes or goes, and the end. */
export const OrderChangeSchema = s.answerOf({
  account: s.answered<AccountName>(),
  orderId: s.answered<OrderId>(),
  reference: s.absentOr(s.answered()),
  status: s.nullable(s.answered(), 'Null before the first read.'),
  rawStatus: s.nullable(s.answered(), 'As it came.'),
  since: s.answered('When we found the status.'),
  terminal: s.flag,
  outcome: s.nullable(s.wordOf(outcomes), 'Null while the order is followed.'),
  attention: s.absentOr(s.nullable(AttentionSchema), 'Only what is about the ride.'),
});
/** The part of a trail that notices carry. `since` is the start of the run before the first read. */
export type OrderChange = s.Read<typeof OrderChangeSchema>;

/** Body of the request that a `notify` URL gets. */
export const OrderEventSchema = s.answerOf({
  type: s.described(
    s.wordOf(['order.changed', 'order.ended', 'attention.raised', 'attention.cleared']),
    'order.ended: the last notice. attention.raised and attention.cleared: nothing else has changed.',
  ),
  timestamp: s.described(s.answered(), 'When the run learnt of it.'),
  data: OrderChangeSchema,
});
/** A notice to a URL. */
export type OrderEvent = s.Read<typeof OrderEventSchema>;

const TimelineEntrySchema = s.answerOf({
  status: s.answered(),
  rawStatus: s.answered(),
  at: s.answered(),
  source: s.wordOf(['read', 'delivery']),
  eventTime: s.absentOr(
    s.answered(),
    "When the status began by the service's clock, as a delivery about it claims; absent where none does.",
  ),
});
/** One observation that changed something. `at` is the ISO instant of the observation. */
export type TimelineEntry = s.Read<typeof TimelineEntrySchema>;

/** The durable record of a followed order: the result of `followOrder`, the answer to its query and its updates. */
export const OrderTrailSchema = s.answerOf({
  ...OrderChangeSchema.fields,
  timeline: s.described(
    s.listOf(TimelineEntrySchema),
    'Newest last: the last 200, at most 10 of them from deliveries, which give way to reads.',
  ),
  deliveries: DeliveryCountsSchema,
  // Those of the run; the watch of the account polls without it.
  reads: s.wholeNumber(),
  pushed: s.described(s.flag, 'Do deliveries announce the changes of this order?'),
  attention: s.nullable(AttentionSchema),
  details: s.nullable(s.anyObject()),
});
/** The durable record of a followed order. */
export type OrderTrail = s.Read<typeof OrderTrailSchema>;

/** Why the order cannot be read now; null: its last read succeeded. Attention about the ride is no such trouble. */
export const troubleOf = <Told extends { code: string }>({ attention }: { attention: Told | null }): Told | null =>
  troubleCodes.some((code) => code === attention?.code) ? attention : null;

const maxTimeline = 200;
/** Of the entries that only deliveries named: whoever knows the address of a webhook can send any. */
const maxClaimed = 10;

/** The trail of an order before the first read. */
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

/** The trail with the reference of the input. */
export const withReference = (trail: OrderTrail, { reference }: FollowOrderInput): OrderTrail =>
  reference === undefined ? trail : { ...trail, reference };

const isClaim = ({ source }: TimelineEntry): boolean => source === 'delivery';

/** The last entries, at most `most`. A claim never takes the place of what a read found. */
function lastEntries(timeline: readonly TimelineEntry[], most: number): TimelineEntry[] {
  const reads = timeline.filter((entry) => !isClaim(entry)).slice(-most);
  const room = Math.min(maxClaimed, most - reads.length);
  const claims = timeline.filter((entry) => isClaim(entry) && toKnownStatus(entry.status) !== undefined);
  const kept = new Set([...reads, ...claims.slice(Math.max(0, claims.length - room))]);
  return timeline.filter((entry) => kept.has(entry));
}

/** A trail within its limits: release 0.2.0 let deliveries fill the whole timeline with any words. */
export const withinLimits = (trail: OrderTrail): OrderTrail => ({
  ...trail,
  timeline: lastEntries(trail.timeline, maxTimeline),
});

/**
 * Inserts a claim by its time. The clock of an ingress may be ahead, so no claim is later than `readAt`, the read that
 * answers it.
 */
function withClaim(timeline: readonly TimelineEntry[], claim: TimelineEntry, readAt: string): TimelineEntry[] {
  const at = Date.parse(claim.at) > Date.parse(readAt) ? readAt : claim.at;
  const place = timeline.findLastIndex((entry) => Date.parse(entry.at) <= Date.parse(at)) + 1;
  return [...timeline.slice(0, place), { ...claim, at }, ...timeline.slice(place)];
}

/** What a terminal status means for the caller. A terminal word that only the contract profile knows counts as completed. */
function outcomeOf(status: string): Outcome {
  if (isSameStatus(status, 'Cancelled')) return 'cancelled';
  return isSameStatus(status, 'Rejected') ? 'rejected' : 'completed';
}

/** Adds the known statuses that only deliveries named, since they came and went between two reads. */
function withClaims(
  timeline: readonly TimelineEntry[],
  claims: readonly DeliveryNotice[],
  read: WatchedReading,
  at: string,
): TimelineEntry[] {
  const listed = new Set([read.status, ...timeline.map(({ status }) => status)].map(statusKey));
  return claims.reduce<TimelineEntry[]>(
    (entries, { status: rawStatus, receivedAt, eventTime }) => {
      const status = rawStatus === undefined ? undefined : toKnownStatus(rawStatus);
      if (rawStatus === undefined || status === undefined || listed.has(statusKey(status))) return entries;
      listed.add(statusKey(status));
      const happened = eventTime === undefined ? {} : { eventTime };
      return withClaim(entries, { status, rawStatus, at: receivedAt, source: 'delivery', ...happened }, at);
    },
    [...timeline],
  );
}

/**
 * The entry with the time of its event, from the newest of these deliveries about its status. An order may come back to
 * a status, and an old delivery about it may be repeated then.
 */
function withEventTime(entry: TimelineEntry, claims: readonly DeliveryNotice[]): TimelineEntry {
  const times = claims.flatMap(({ status = null, eventTime }) =>
    eventTime !== undefined && isSameStatus(status, entry.status) ? [eventTime] : [],
  );
  const [eventTime = entry.eventTime] = times.sort().reverse();
  return eventTime === undefined ? entry : { ...entry, eventTime };
}

/** The timeline after a read that found the last status again. A poll may have found it before its delivery came. */
function withLateEventTime(
  timeline: readonly TimelineEntry[],
  status: string,
  claims: readonly DeliveryNotice[],
): TimelineEntry[] {
  const index = timeline.findLastIndex(({ source }) => source === 'read');
  return timeline.map((entry, at) =>
    at === index && isSameStatus(entry.status, status) && entry.eventTime === undefined
      ? withEventTime(entry, claims)
      : entry,
  );
}

/** What several looks find has begun with the first of them. */
const since = (before: Attention | null, now: Attention): Attention =>
  before?.code === now.code ? { ...now, since: before.since } : now;

/** A reading clears the attention, unless the ride itself needs a person. */
const attentionAfter = ({ attention }: OrderTrail, { concern, terminal }: WatchedReading): Attention | null =>
  concern === null || terminal ? null : since(attention, concern);

/** Nobody needs the driver or the car of an order that is followed no longer. */
export function withoutDriver(trail: OrderTrail): OrderTrail {
  const { driver: _driver, vehicle: _vehicle, ...details } = trail.details ?? {};
  return { ...trail, details: Object.keys(details).length > 0 ? details : null };
}

/** The observation by the clock of the run. That of the worker that looked may be ahead: nothing was seen, or began, after `now`. */
export function seenBy(now: string, seen: OrderObservation): OrderObservation {
  const byRun = (at: string): string => (Date.parse(at) > Date.parse(now) ? now : at);
  const sinceByRun = <A extends Attention>(attention: A): A => ({ ...attention, since: byRun(attention.since) });
  if (seen.kind === 'unknownOrder') return seen;
  if (seen.kind === 'trouble') return { ...seen, attention: sinceByRun(seen.attention) };
  const { concern } = seen.reading;
  return { ...seen, at: byRun(seen.at), reading: { ...seen.reading, concern: concern && sinceByRun(concern) } };
}

/**
 * The trail after a look. A reading clears the attention and sets a new status; trouble sets the attention and keeps the status.
 * `claims` are the deliveries that a reading answers. `isAnnounced`: a delivery has come, even if it did not lead to this look.
 */
export function recordObservation(
  trail: OrderTrail,
  seen: OrderObservation,
  claims: DeliveryNotice[],
  isAnnounced = claims.length > 0,
): OrderTrail {
  const reads = trail.reads + seen.reads;
  if (trail.terminal || seen.kind === 'unknownOrder') return { ...trail, reads };
  if (seen.kind === 'trouble') return { ...trail, reads, attention: since(trail.attention, seen.attention) };
  const { reading, at } = seen;
  const timeline = withClaims(trail.timeline, claims, reading, at);
  const calm: OrderTrail = {
    ...trail,
    reads,
    attention: attentionAfter(trail, reading),
    details: reading.details ?? trail.details,
    timeline,
  };
  const { status, rawStatus, terminal } = reading;
  const outcome = terminal ? outcomeOf(status) : null;
  const told: OrderTrail = { ...(terminal ? withoutDriver(calm) : calm), terminal, outcome };
  if (isSameStatus(trail.status, status))
    return withinLimits({ ...told, timeline: withLateEventTime(timeline, status, claims) });
  return withinLimits({
    ...told,
    status,
    rawStatus,
    since: at,
    timeline: [...timeline, withEventTime({ status, rawStatus, at, source: 'read' }, claims)],
    // Only a change proves that deliveries announce changes. If a poll found it first, polls must be fast again.
    pushed: isAnnounced,
  });
}

/** The pick-up time. The last word of the service takes precedence over the caller's, since an order can be moved. */
export const scheduledAt = (input: FollowOrderInput, trail: OrderTrail): string | null =>
  readInstant(trail.details?.scheduledAt) ?? input.scheduledAt ?? null;

/** When following ends without an end of the order, in milliseconds since the epoch. */
export function expiresAt(input: FollowOrderInput, trail: OrderTrail, startedAt: string): number {
  const pickup = scheduledAt(input, trail);
  const start = Date.parse(startedAt);
  // A later pick-up is a mistake, and must not start a timer of thousands of years.
  const from = Math.max(start, Math.min(pickup === null ? 0 : Date.parse(pickup), start + maxFollowForMs));
  return from + (input.followForMs ?? defaultFollowForMs);
}

/** The part of a trail that notices carry. */
export function toOrderChange(trail: OrderTrail): OrderChange {
  const { account, orderId, status, rawStatus, since, terminal, outcome } = trail;
  const reference = trail.reference === undefined ? {} : { reference: trail.reference };
  const attention = toConcern(trail.attention);
  return { account, orderId, ...reference, status, rawStatus, since, terminal, outcome, attention };
}

/** Is this a change for receivers that got `last`? */
export const isChange = (change: OrderChange, last: OrderChange | null): boolean =>
  change.outcome !== (last?.outcome ?? null) ||
  change.rawStatus !== (last?.rawStatus ?? null) ||
  change.attention?.code !== last?.attention?.code;

/** The type of a row of the store that no receiver of notices gets. */
export const referenceAdded = 'reference.added';

/**
 * A row for the store alone: the reference arrived after `last` was sent to receivers. All other fields are as in
 * `last`, since trouble with the plumbing may hide attention about the ride. Null if there is nothing to store.
 */
export const storeNewsSince = (
  last: OrderChange,
  { reference }: OrderChange,
): { type: typeof referenceAdded; data: OrderChange } | null =>
  reference === undefined || reference === last.reference
    ? null
    : { type: referenceAdded, data: { ...last, reference } };

/** The same change as an event for URLs that got `last` before. */
export const toOrderEvent = (change: OrderChange, last: OrderChange | null): Omit<OrderEvent, 'timestamp'> => ({
  type: eventType(change, last),
  data: change,
});

function eventType(change: OrderChange, last: OrderChange | null): OrderEvent['type'] {
  if (change.outcome !== null) return 'order.ended';
  if (change.rawStatus !== last?.rawStatus) return 'order.changed';
  return change.attention ? 'attention.raised' : 'attention.cleared';
}

/**
 * The longest possible delay of seeing a change, in milliseconds: since the first of the deliveries that led to the read, or since
 * `unchangedAt`, when a look found the former status. Undefined if there was none. `now`: milliseconds since the epoch.
 */
export function statusLagMs(
  claims: readonly DeliveryNotice[],
  unchangedAt: string | null,
  now: number,
): number | undefined {
  if (claims.length > 0) return notNegative(now - Math.min(...claims.map(({ receivedAt }) => Date.parse(receivedAt))));
  return unchangedAt === null ? undefined : notNegative(now - Date.parse(unchangedAt));
}

/** The clock of another process may be ahead. */
const notNegative = (ms: number): number => Math.max(0, ms);

const shownEntries = 50;
const maxUndelivered = 20;

/** The trail as Markdown for the Temporal UI: where the order stands, what needs a person, and its timeline. */
export function describeTrail(trail: OrderTrail, undelivered: readonly string[] = []): string {
  const { attention, deliveries, outcome } = trail;
  const head = [
    `**${cell(trail.status ?? 'not read yet')}** since ${second(trail.since)} UTC`,
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(trail.reference === undefined ? [] : [`reference ${cell(trail.reference)}`]),
  ].join(', ');
  const shown = lastEntries(trail.timeline, shownEntries);
  const rows = shown.map(({ at, status, source }) => [second(at), cell(status), source]);
  return [
    head,
    ...attentionLines(attention),
    ...undelivered.slice(0, maxUndelivered).map((line) => `Not notified: ${cell(line)}`),
    tableOf(['seen at (UTC)', 'status', 'seen by'], rows),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${trail.reads}.`,
  ].join('\n\n');
}
