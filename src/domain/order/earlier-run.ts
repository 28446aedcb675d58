import { countDeliveries, type DeliveryNotice, type EndParkReason } from '../delivery.js';
import { hostOf, isUrlReceiver, type Notify } from '../notify/receivers.js';
import type { FollowOrderKey } from '../workflow-ids.js';
import { type FollowOrderInput, type FollowRequest, fillInput } from './input.js';
import { type OrderTrail, type Outcome, openTrail, withReference } from './trail.js';

/**
 * How the last run of an order ended. `brokenOff`: it failed, or somebody cancelled or terminated it, so it left no trail.
 * `unreadable`: it left a result that cannot be read here, encrypted with a key that is not held, say.
 */
export type OrderEnd = Outcome | 'brokenOff' | 'unreadable';

/** Does a caller who wants the order followed start it anew? `again`: the caller says that the end was a mistake. */
export function isFollowedAgain(end: OrderEnd, again: boolean): boolean {
  switch (end) {
    case 'completed':
    case 'cancelled':
    case 'rejected':
      return false; // an end of the order stays an end (I5)
    case 'stopped':
    case 'expired':
    case 'unreadable':
      return again;
    case 'brokenOff':
      return true;
  }
}

/** What becomes of deliveries for an order whose last run has ended: they start it anew, come too late, or are parked. */
export function afterEnd(end: OrderEnd): 'again' | 'late' | EndParkReason {
  switch (end) {
    case 'completed':
    case 'cancelled':
    case 'rejected':
      return 'late';
    case 'brokenOff':
    case 'expired':
      return 'again'; // somebody wanted it followed, and the delivery proves that the order lives
    case 'stopped':
      return 'followingStopped'; // by a person, so a person decides
    case 'unreadable':
      return 'endUnreadable';
  }
}

/** More than any order needs, so that nobody makes a run tell the whole world. */
const maxReceivers = 50;

/** Receivers that a run was asked to tell besides those it tells already: as many as there is room for, and the rest. */
interface AddedReceivers {
  added: Notify[];
  leftOut: Notify[];
}

/** One that is told already, or named twice, is added once. */
export function addedReceivers(present: readonly Notify[], more: readonly Notify[]): AddedReceivers {
  const known = new Set(present.map(keyOf));
  const newcomers = more.filter((receiver) => !known.has(keyOf(receiver)) && known.add(keyOf(receiver)));
  const room = Math.max(0, maxReceivers - present.length);
  return { added: newcomers.slice(0, room), leftOut: newcomers.slice(room) };
}

const keyOf = (receiver: Notify): string =>
  JSON.stringify(isUrlReceiver(receiver) ? [receiver.url] : [receiver.workflowId, receiver.signal]);

/** As many lines as the details of a run show. */
const maxLines = 20;

/** The lines, for the UI, about receivers that found no room, with these. */
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
  /** Deliveries that no reading has answered yet. */
  claims: DeliveryNotice[];
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  receivers: Notify[];
  /** One line for each receiver that found no room. */
  leftOut: string[];
}

/** The answer of an earlier run. */
export interface EarlierRun {
  left: RunLeft;
  /** The run that it was to go on from itself, while it had not heard from it. */
  continues: string | null;
}

const maxClaims = 1_000;
const maxSeenDeliveries = 1_000;

/** What a run has from its start, before anything came to it. */
export const leftAtStart = (input: FollowOrderInput, startedAt: string): RunLeft => ({
  input,
  trail: openTrail(input, startedAt),
  claims: [],
  seenDeliveries: [],
  receivers: input.notify ?? [],
  leftOut: [],
});

type Recorded = Pick<RunLeft, 'trail' | 'claims' | 'seenDeliveries'>;

/** With deliveries that have come: counted, known again, and kept until a reading answers them. */
export function withDeliveries(before: Recorded, deliveries: readonly DeliveryNotice[]): Recorded {
  const { trail, claims, seenDeliveries: seen } = before;
  const { counts, seenDeliveries } = countDeliveries(trail.deliveries, seen, deliveries);
  return {
    trail: { ...trail, pushed: true, deliveries: counts },
    claims: [...claims, ...deliveries].slice(-maxClaims),
    seenDeliveries,
  };
}

type Wished = Pick<RunLeft, 'input' | 'trail' | 'receivers' | 'leftOut'>;

/** With what a caller asks for: it fills what is not known yet, and adds receivers. The first word about each thing stands. */
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
 * What the run of today knows together with what an earlier one left: the timeline goes on, and an end that was none at the service is
 * taken back. `now` has read nothing yet; what its callers say goes before what those of the earlier run said. How long one was to
 * follow that has expired does not count again, or each would expire like it.
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
    claims: [...earlier.claims, ...now.claims].slice(-maxClaims),
    seenDeliveries: [...new Set([...earlier.seenDeliveries, ...now.seenDeliveries])].slice(-maxSeenDeliveries),
    receivers: [...earlier.receivers, ...added],
    leftOut: withLeftOut([...earlier.leftOut, ...now.leftOut], leftOut),
  };
}
