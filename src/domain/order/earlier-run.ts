import {
  countDeliveries,
  type DeliveryNotice,
  DeliveryNoticeSchema,
  type EndParkReason,
  isReadable,
} from '../delivery.js';
import { readInput } from '../input-fields.js';
import { isUrlReceiver, type Notify, NotifySchema } from '../notify/receivers.js';
import * as s from '../schema.js';
import { type FollowOrderInput, type FollowRequest, fillInput } from './input.js';
import {
  type OrderObservation,
  OrderTrailSchema,
  type Outcome,
  openTrail,
  recordObservation,
  withinLimits,
  withoutDriver,
  withReference,
} from './trail.js';

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
export const maxReceivers = 50;

/** Receivers to add to those that a run has: each once, and as many as it has room for. */
export function addedReceivers(present: readonly Notify[], more: readonly Notify[]): Notify[] {
  const known = new Set(present.map(keyOf));
  const newcomers = more.filter((receiver) => !known.has(keyOf(receiver)) && known.add(keyOf(receiver)));
  return newcomers.slice(0, Math.max(0, maxReceivers - present.length));
}

const keyOf = (receiver: Notify): string =>
  JSON.stringify(isUrlReceiver(receiver) ? [receiver.url] : [receiver.workflowId, receiver.signal]);

const maxKept = 1_000;

const RunLeftSchema = s.inputOf({
  trail: OrderTrailSchema,
  // Deliveries that no reading has answered.
  claims: s.listOf(DeliveryNoticeSchema, maxKept),
  // Ids of deliveries already counted, newest last.
  seenDeliveries: s.listOf(s.answered(), maxKept),
  receivers: s.listOf(NotifySchema, maxReceivers),
});

/** What a run of `followOrder` leaves to the next run of the same order, beside its input. Plain JSON. */
export type RunLeft = s.Read<typeof RunLeftSchema>;

/** Reads what the starter of a run has found of an earlier one. Throws `InvalidInput` that names the field. */
export const parseRunLeft = (value: unknown): RunLeft => readInput(RunLeftSchema, value, 'left');

/** The same with the input, to which callers may have added. */
export interface FollowedOrder extends RunLeft {
  input: FollowOrderInput;
}

/** What a run knows at its start. */
export const atStart = (input: FollowOrderInput, startedAt: string, left?: RunLeft): FollowedOrder => {
  const nothing = { trail: openTrail(input, startedAt), claims: [], seenDeliveries: [], receivers: [] };
  const order = { ...(left ? { ...left, trail: withinLimits(left.trail) } : nothing), input };
  return { ...order, ...withRequest(order, input) };
};

type Recorded = Pick<RunLeft, 'trail' | 'claims' | 'seenDeliveries'>;

/** Adds deliveries: counts them, remembers their ids, and keeps them until a reading answers them. */
export function withDeliveries(before: Recorded, deliveries: readonly DeliveryNotice[]): Recorded {
  const { trail, claims, seenDeliveries: seen } = before;
  const { counts, seenDeliveries } = countDeliveries(trail.deliveries, seen, deliveries);
  return {
    trail: { ...trail, deliveries: counts },
    claims: [...claims, ...deliveries].slice(-maxKept),
    seenDeliveries,
  };
}

/** Adds what a read found. A reading answers the deliveries `answered`; trouble answers none: the next reading does. */
export const withObservation = (
  { trail, claims }: Pick<Recorded, 'trail' | 'claims'>,
  seen: OrderObservation,
  answered: DeliveryNotice[],
): Pick<Recorded, 'trail' | 'claims'> => ({
  // One that cannot be read announces nothing.
  trail: recordObservation(trail, seen, answered, claims.some(isReadable)),
  claims: seen.kind === 'reading' ? claims.filter((claim) => !answered.includes(claim)) : claims,
});

type Wished = Pick<FollowedOrder, 'input' | 'trail' | 'receivers'>;

/** Adds what a caller asks for: sets the fields that are not set yet, and adds receivers. */
export function withRequest(before: Wished, request: FollowRequest): Wished {
  const input = fillInput(before.input, request);
  const added = addedReceivers(before.receivers, request.notify ?? []);
  return { input, trail: withReference(before.trail, input), receivers: [...before.receivers, ...added] };
}

/**
 * With what a run starts that follows the order again. What its own caller says takes precedence over what was said to the ended run. An
 * expired run does not pass on its `followForMs`, or the new run would expire too.
 */
export function goOnFrom(
  { input: { followForMs, ...asked }, ...left }: FollowedOrder,
  end: OrderEnd,
  input: FollowOrderInput,
): { input: FollowOrderInput; left: RunLeft } {
  const passedOn = end === 'expired' || followForMs === undefined ? asked : { ...asked, followForMs };
  return {
    input: fillInput(input, passedOn),
    left: { ...left, trail: withoutDriver(left.trail), claims: left.claims.filter(isReadable) },
  };
}
