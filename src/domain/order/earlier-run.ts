import { countDeliveries, type DeliveryNotice, type EndParkReason, isReadable } from '../delivery.js';
import { hostOf, isUrlReceiver, type Notify } from '../notify/receivers.js';
import type { FollowOrderKey } from '../workflow-ids.js';
import { type FollowOrderInput, type FollowRequest, fillInput } from './input.js';
import { type OrderTrail, type Outcome, openTrail, withReference } from './trail.js';

/**
 * How the last run of an order ended. `brokenOff`: it failed, or a person cancelled or terminated it, so it left no trail.
 * `unreadable`: this process cannot read its result, for example for want of the encryption key.
 */
export type OrderEnd = Outcome | 'brokenOff' | 'unreadable';

/** `callers`: does a caller who asks to follow the order start a new run? `deliveries`: what becomes of deliveries for the order. */
const afterEnds: Record<
  OrderEnd,
  { callers: 'never' | 'if asked again' | 'always'; deliveries: 'again' | 'late' | EndParkReason }
> = {
  // The order has ended at the service: that end stays (I5).
  completed: { callers: 'never', deliveries: 'late' },
  cancelled: { callers: 'never', deliveries: 'late' },
  rejected: { callers: 'never', deliveries: 'late' },
  // A person stopped the run, so a person decides.
  stopped: { callers: 'if asked again', deliveries: 'followingStopped' },
  // A caller wanted the order followed, and the delivery proves that it lives.
  expired: { callers: 'if asked again', deliveries: 'again' },
  brokenOff: { callers: 'always', deliveries: 'again' },
  unreadable: { callers: 'if asked again', deliveries: 'endUnreadable' },
};

/** Does a caller who asks to follow the order start a new run? `again`: the caller says that the end was a mistake. */
export const isFollowedAgain = (end: OrderEnd, again: boolean): boolean =>
  afterEnds[end].callers === 'always' || (again && afterEnds[end].callers === 'if asked again');

/** What becomes of deliveries for an order whose last run has ended: they start a new run, come too late, or are parked. */
export const afterEnd = (end: OrderEnd): 'again' | 'late' | EndParkReason => afterEnds[end].deliveries;

/** More than any order needs, so that a caller cannot make a run send notices without end. */
const maxReceivers = 50;

/** Receivers to add to those that a run has: as many as it has room for, each once, and the rest. */
export function addedReceivers(
  present: readonly Notify[],
  more: readonly Notify[],
): { added: Notify[]; leftOut: Notify[] } {
  const known = new Set(present.map(keyOf));
  const newcomers = more.filter((receiver) => !known.has(keyOf(receiver)) && known.add(keyOf(receiver)));
  const room = Math.max(0, maxReceivers - present.length);
  return { added: newcomers.slice(0, room), leftOut: newcomers.slice(room) };
}

const keyOf = (receiver: Notify): string =>
  JSON.stringify(isUrlReceiver(receiver) ? [receiver.url] : [receiver.workflowId, receiver.signal]);

/** The details of a run show no more lines. */
const maxLines = 20;

/** Adds lines, for the UI, about receivers for which the run has no room. */
export const withLeftOut = (lines: readonly string[], receivers: readonly Notify[]): string[] =>
  [...new Set([...lines, ...receivers.map(toLine)])].slice(0, maxLines);

const toLine = (receiver: Notify): string => {
  const name = isUrlReceiver(receiver) ? hostOf(receiver.url) : `${receiver.workflowId} by signal ${receiver.signal}`;
  return `${name.slice(0, 50)}: more than ${maxReceivers} receivers`;
};

/** Names a run of `followOrder` that has ended. */
export interface EarlierRunKey extends FollowOrderKey {
  runId: string;
}

/** What a run of `followOrder` leaves to a later run of the same order. Plain JSON. */
export interface RunLeft {
  input: FollowOrderInput;
  trail: OrderTrail;
  /** Deliveries that no reading has answered. */
  claims: DeliveryNotice[];
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  receivers: Notify[];
  /** One line for each receiver for which the run had no room. */
  leftOut: string[];
}

/** The answer of an earlier run. */
export interface EarlierRun {
  left: RunLeft;
  /** The run that it had to continue, until that run answered. */
  continues: string | null;
}

const maxKept = 1_000;

/** What a run has at its start. */
export const leftAtStart = (input: FollowOrderInput, startedAt: string): RunLeft => ({
  input,
  trail: openTrail(input, startedAt),
  claims: [],
  seenDeliveries: [],
  receivers: input.notify ?? [],
  leftOut: [],
});

type Recorded = Pick<RunLeft, 'trail' | 'claims' | 'seenDeliveries'>;

/** Adds deliveries: counts them, remembers their ids, and keeps them until a reading answers them. */
export function withDeliveries(before: Recorded, deliveries: readonly DeliveryNotice[]): Recorded {
  const { trail, claims, seenDeliveries: seen } = before;
  const { counts, seenDeliveries } = countDeliveries(trail.deliveries, seen, deliveries);
  return {
    // One that cannot be read announces nothing.
    trail: { ...trail, pushed: trail.pushed || deliveries.some(isReadable), deliveries: counts },
    claims: [...claims, ...deliveries].slice(-maxKept),
    seenDeliveries,
  };
}

type Wished = Pick<RunLeft, 'input' | 'trail' | 'receivers' | 'leftOut'>;

/** Adds what a caller asks for: sets the fields that are not set yet, and adds receivers. */
export function withRequest(before: Wished, request: FollowRequest): Wished {
  const input = fillInput(before.input, request);
  const { added, leftOut } = addedReceivers(before.receivers, request.notify ?? []);
  return {
    input,
    trail: withReference(before.trail, input),
    receivers: [...before.receivers, ...added],
    leftOut: withLeftOut(before.leftOut, leftOut),
  };
}

/**
 * Joins a new run, `now`, which has read nothing yet, with what an earlier run left. The timeline goes on, and an outcome that was not an
 * end at the service is removed. Inputs of the new run take precedence. An expired run does not pass on its `followForMs`, or the new
 * run would expire too.
 */
export function goOnFrom(earlier: RunLeft, now: RunLeft): RunLeft {
  const { followForMs: _tooShort, ...asked } = earlier.input;
  const input = fillInput(now.input, earlier.trail.outcome === 'expired' ? asked : earlier.input);
  const seenBefore = new Set(earlier.seenDeliveries);
  const again = now.seenDeliveries.filter((id) => id !== '' && seenBefore.has(id)).length;
  const { added, leftOut } = addedReceivers(earlier.receivers, now.receivers);
  return {
    input,
    trail: {
      ...withReference(earlier.trail, input),
      outcome: earlier.trail.terminal ? earlier.trail.outcome : null,
      pushed: earlier.trail.pushed || now.trail.pushed,
      reads: earlier.trail.reads + now.trail.reads,
      deliveries: {
        received: earlier.trail.deliveries.received + now.trail.deliveries.received,
        duplicate: earlier.trail.deliveries.duplicate + now.trail.deliveries.duplicate + again,
      },
    },
    claims: [...earlier.claims, ...now.claims].slice(-maxKept),
    seenDeliveries: [...new Set([...earlier.seenDeliveries, ...now.seenDeliveries])].slice(-maxKept),
    receivers: [...earlier.receivers, ...added],
    leftOut: withLeftOut([...earlier.leftOut, ...now.leftOut], leftOut),
  };
}
