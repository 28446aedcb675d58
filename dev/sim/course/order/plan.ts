// Random plans for the course of one order: changes at the service, deliveries, requests of callers, and faults.
import fc from 'fast-check';
import type { FollowOrderLimits } from '../../../../src/workflows/order/follow-order.js';
import type { Disturbance } from '../disturbances.js';
import {
  anyEnd,
  anyOpenStatus,
  anyReset,
  isOfOperator,
  kind,
  minute,
  type OperatorDeed,
  operatorText,
  second,
} from '../draws.js';
import { durationText, type Line } from '../in-words.js';
import { anyReceiver, type Receiver, receiverText } from '../receiver.js';
import type { Plan } from '../scenario.js';
import { shorter } from '../search.js';

/** Number of copies of a delivery, and its delay. */
export type Sending = { times: 0 | 1 | 2; lateMs: number };

export interface Change {
  /** Time since the previous change. */
  afterMs: number;
  status: string;
  sending: Sending;
}

/** Something that a caller, an operator or a stranger does to the run. */
export type Deed =
  | OperatorDeed
  | ({ atMs: number } & (
      | { kind: 'refresh' | 'unreadableSignal' }
      /** An operator ends the run by mistake; after `restMs` a caller has the order followed again. */
      | { kind: 'endedByMistake'; how: 'cancel' | 'terminate'; restMs: number }
      /** `crowd`: how many signals come in the second after it. */
      | { kind: 'stop'; crowd: number }
      /** A stranger who knows the address invents this many deliveries, each with another status. */
      | { kind: 'inventedDeliveries'; count: number; everyMs: number }
    ));

/** The life of one order and its run. */
export interface OrderStory {
  changes: Change[];
  end: { afterMs: number; status: 'Completed' | 'Cancelled'; sending: Sending };
  /** A caller has the order followed from the start; otherwise the first delivery starts the run. */
  isRequested: boolean;
  limits: FollowOrderLimits | null;
  /** Only for an order that a caller has followed. */
  receiver: Receiver | null;
  deeds: Deed[];
}

export interface OrderPlan extends Plan, OrderStory {
  disturbances: Disturbance[];
}

const anySending: fc.Arbitrary<Sending> = fc.record({
  times: fc.constantFrom<Sending['times']>(1, 1, 1, 0, 2),
  lateMs: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 * second }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 15 * minute }) },
  ),
});
const anyLimits = fc.constantFrom<FollowOrderLimits | null>(
  null,
  { maxEvents: 40, maxSignals: 5 },
  { maxEvents: 100, maxSignals: 20 },
);

const anyDeed = (withinMs: number): fc.Arbitrary<Deed> => {
  const atMs = fc.integer({ min: 0, max: withinMs });
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ atMs, kind: kind('refresh') }) },
    { weight: 2, arbitrary: fc.record({ atMs, kind: kind('unreadableSignal') }) },
    { weight: 2, arbitrary: anyReset(atMs) },
    {
      weight: 1,
      arbitrary: fc.record({
        atMs,
        kind: kind('inventedDeliveries'),
        count: fc.constantFrom(3, 300, 600),
        everyMs: fc.constantFrom(0, 2 * second),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ atMs, kind: kind('stop'), crowd: fc.constantFrom(0, 50) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        atMs,
        kind: kind('endedByMistake'),
        how: fc.constantFrom<'cancel' | 'terminate'>('cancel', 'terminate'),
        restMs: fc.integer({ min: 0, max: 5 * minute }),
      }),
    },
    { weight: 1, arbitrary: anyEnd(atMs) },
  );
};

/** Arbitrary parts of an `OrderStory`. `longestMs`: the longest time between two changes. */
export function orderParts({
  longestMs,
  deedsWithinMs,
  mostDeeds,
}: {
  longestMs: number;
  deedsWithinMs: number;
  mostDeeds: number;
}) {
  // Some changes come while a read or a poll of the one before is still under way.
  const afterMs = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 5 * second, max: longestMs }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 20 * second }) },
  );
  return {
    changes: fc.array(fc.record({ afterMs, status: anyOpenStatus, sending: anySending }), { maxLength: 7 }),
    end: fc.record({
      afterMs,
      status: fc.constantFrom<'Completed' | 'Cancelled'>('Completed', 'Cancelled'),
      sending: anySending,
    }),
    isRequested: fc.boolean(),
    limits: anyLimits,
    receiver: anyReceiver(deedsWithinMs),
    deeds: fc.array(anyDeed(deedsWithinMs), { maxLength: mostDeeds }),
  };
}

/** Stories that are a little simpler. */
export function* simplerStories(story: OrderStory): Iterable<OrderStory> {
  for (const deeds of shorter(story.deeds)) yield { ...story, deeds };
  for (const changes of shorter(story.changes)) yield { ...story, changes };
  if (story.limits) yield { ...story, limits: null };
  if (story.receiver) yield { ...story, receiver: null };
  if (!story.isRequested) yield { ...story, isRequested: true };
  for (const [index, change] of story.changes.entries())
    if (!isPrompt(change.sending))
      yield { ...story, changes: story.changes.with(index, { ...change, sending: promptly }) };
  if (!isPrompt(story.end.sending)) yield { ...story, end: { ...story.end, sending: promptly } };
}

const promptly: Sending = { times: 1, lateMs: 0 };
const isPrompt = ({ times, lateMs }: Sending): boolean => times === 1 && lateMs === 0;

/** The start of the following in words. */
export function beginText({ isRequested, limits, receiver }: OrderStory): string {
  const first = isRequested ? 'a caller has the order followed' : 'the first delivery starts the run';
  return [
    first,
    ...(limits ? [`the run continues as new after ${limits.maxEvents} events`] : []),
    ...(isRequested && receiver ? [receiverText(receiver)] : []),
  ].join('; ');
}

/**
 * The life of an order in words. `isAnnounced`: the service announces the changes, so the plan's deliveries do not
 * apply.
 */
export function storyLines({ changes, end, deeds }: OrderStory, { isAnnounced = false } = {}): Line[] {
  let atMs = 0;
  const becomes = [...changes, end].map(({ afterMs, status, sending }) => {
    atMs += afterMs;
    return { atMs, text: `the order becomes ${status}${isAnnounced ? '' : `; ${sendingText(sending)}`}` };
  });
  return [...becomes, ...deeds.map((deed) => ({ atMs: deed.atMs, text: deedText(deed) }))];
}

function sendingText({ times, lateMs }: Sending): string {
  if (times === 0) return 'its delivery is lost';
  return `delivered ${times === 2 ? 'twice, ' : ''}after ${durationText(lateMs)}`;
}

const deedTexts = {
  refresh: 'a caller wants a read',
  unreadableSignal: 'a stranger sends a signal that no run can read',
};

function deedText(deed: Deed): string {
  if (deed.kind === 'stop') return `a caller stops the following; ${deed.crowd} signals come in the next second`;
  if (isOfOperator(deed)) return operatorText(deed);
  if (deed.kind === 'endedByMistake')
    return `${operatorText({ kind: deed.how })} by mistake; after ${durationText(deed.restMs)} a caller has the order followed again`;
  if (deed.kind === 'inventedDeliveries')
    return `a stranger sends ${deed.count} invented deliveries, one each ${durationText(deed.everyMs)}`;
  return deedTexts[deed.kind];
}
