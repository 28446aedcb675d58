// The promises of faretrail about an order, checked after its course. The numbers are those of the invariants.
import { isSameStatus } from '../../../../src/domain/order/status.js';
import type { OrderTrail } from '../../../../src/domain/order/trail.js';
import { attributesOf, type Event } from '../../sdk/history.js';
import type { Execution } from '../../server/execution.js';
import { calmFrom, isCareless, mostAttempts, resultOf } from '../evidence.js';
import { durationText } from '../in-words.js';
import { untoldStatuses } from '../receiver.js';
import type { Course, Promised } from '../scenario.js';
import { announcedBy, type OrderCourse, receiverOf } from './course.js';

export const orderPromises: readonly Promised<OrderCourse>[] = [
  ['I1: a run counts each delivery that it gets', miscounts],
  ['I2: a read starts after each delivery, within minutes', deliveriesNotRead],
  ['I2: what others claim does not displace what was read', displacedReads],
  ['I2: each status that was delivered is in the trail', forgottenClaims],
  ['I2: a status that lasts is found, even if its delivery is lost', unseenStatuses],
  ['I5: the last status is that of the service, and nothing follows it', wrongEnds],
  ['I5: no status comes back after a later one was read', statusesThatComeBack],
  ['I6: events grow with changes, not with time', tooManyEvents],
  ['I7: the run ends soon after the order', lateEnds],
  ['Callers get an answer, and it says the truth', wrongAnswers],
  ['Receivers are told each change at least once, in order', untold],
];

/** Applies a promise about one order to every order of a course. */
export const ofEachOrder = <C extends Course & { orders: readonly OrderCourse[] }>([
  promise,
  findBreaches,
]: Promised<OrderCourse>): Promised<C> => [
  promise,
  ({ orders }) => orders.flatMap((order) => findBreaches(order).map((what) => `${order.orderId}: ${what}`)),
];

const minute = 60_000;
/** Time limit for a calm system to start a read. */
const readWithinMs = 5 * minute;
/** Time limit for a calm system to find a change whose delivery was lost: a poll comes within five minutes. */
const foundWithinMs = 7 * minute;
/** Time limit for a calm system to detect the end of an order whose delivery was lost. */
const endWithinMs = 10 * minute;

const at = ({ startedAt }: OrderCourse, instant: number): string => durationText(instant - startedAt);

/** Was the course ended by a person, so that promises about the rest of it do not hold? */
const isBrokenOff = ({ met }: OrderCourse): boolean => ['stop', 'cancel', 'terminate'].some((kind) => met.has(kind));

const trailOf = (run: Execution | undefined): OrderTrail | null => resultOf<OrderTrail>(run);

/** The deliveries that reached a run, by the signals in its history. */
export const deliveredTo = (events: readonly Event[]): string[] =>
  events.flatMap((event) => {
    const signal = attributesOf(event, 'workflowExecutionSignaled');
    if (signal?.signalName !== 'deliveryReceived') return [];
    const given: unknown = JSON.parse(Buffer.from(signal.input?.payloads?.[0]?.data ?? []).toString());
    const { deliveries = [] } = given as { deliveries?: { deliveryId: string }[] };
    return deliveries.map(({ deliveryId }) => deliveryId);
  });

function miscounts({ runs, met }: OrderCourse): string[] {
  const trail = trailOf(runs.at(-1));
  // Resets repeat signals, and unreadable ones count as deliveries.
  if (
    !trail ||
    ['reset', 'unreadableSignal', 'cancel', 'terminate', 'stop', 'inventedDeliveries'].some((kind) => met.has(kind))
  )
    return [];
  const delivered = runs.flatMap(({ events }) => deliveredTo(events));
  const duplicate = delivered.length - new Set(delivered).size;
  const counted = trail.deliveries;
  if (counted.received === delivered.length && counted.duplicate === duplicate) return [];
  return [
    `counted ${counted.received} with ${counted.duplicate} duplicates, got ${delivered.length} with ${duplicate}`,
  ];
}

const readsOf = ({ world, orderId }: OrderCourse): number[] =>
  world.service.state.ledger.entries({ orderId }).flatMap((entry) => {
    const isRead = entry.operation === 'orderDetails' && entry.httpStatus === 200;
    return isRead ? [Date.parse(entry.at)] : [];
  });

/** Without those that a person has to place. */
const acknowledgedOf = ({ world: { ingress }, orderId }: OrderCourse) =>
  ingress.acknowledged.filter(({ delivery }) => {
    const isAbout = delivery.orderId === orderId && delivery.eventType === 'status_changed';
    return isAbout && !ingress.parked.has(delivery.deliveryId);
  });

function deliveriesNotRead(course: OrderCourse): string[] {
  if (isBrokenOff(course)) return [];
  const reads = readsOf(course);
  const { runs } = course;
  return acknowledgedOf(course).flatMap(({ delivery, at: acknowledgedAt }) => {
    const next = reads.find((read) => read >= acknowledgedAt);
    const last = runs.at(-1);
    // The watch may poll an order once more after its end.
    if (last?.status === 'COMPLETED' && (next ?? Number.POSITIVE_INFINITY) > (last.closedMs ?? 0)) return [];
    const due = calmFrom(course, acknowledgedAt, readWithinMs) + readWithinMs;
    if (next !== undefined && next <= due) return [];
    const found = next === undefined ? 'there was none' : `the next one was at ${at(course, next)}`;
    return [
      `${delivery.deliveryId} came at ${at(course, acknowledgedAt)}, a read was due by ${at(course, due)}, ${found}`,
    ];
  });
}

/** The statuses that reads of the run found, in order. */
const readStatuses = (events: readonly Event[]): string[] =>
  events.flatMap((event) => {
    const result = attributesOf(event, 'activityTaskCompleted')?.result?.payloads?.[0]?.data;
    const found: unknown = result ? JSON.parse(Buffer.from(result).toString()) : null;
    const { kind, reading } = (found ?? {}) as { kind?: string; reading?: { status: string } };
    return kind === 'reading' && reading ? [reading.status] : [];
  });

function displacedReads({ runs, met }: OrderCourse): string[] {
  // In a run that was reset, a caller who is there again may end the read whose result the history holds.
  if (met.has('reset')) return [];
  const [first] = readStatuses(runs.at(-1)?.events ?? []);
  const trail = trailOf(runs.at(-1));
  if (!trail || first === undefined) return [];
  const isThere = trail.timeline.some(({ status, source }) => source === 'read' && isSameStatus(status, first));
  return isThere ? [] : [`the timeline no longer shows ${first}, the first status that the run read`];
}

function forgottenClaims({ runs, statuses, met }: OrderCourse): string[] {
  const trail = trailOf(runs.at(-1));
  if (!trail?.terminal || met.has('reset') || met.has('inventedDeliveries')) return [];
  const delivered = new Set(runs.flatMap(({ events }) => deliveredTo(events)));
  return [...delivered].flatMap((id) => {
    const { status } = statuses[announcedBy(id) + 1] ?? {};
    const isThere = trail.timeline.some((entry) => isSameStatus(entry.status, status ?? null));
    return isThere || status === undefined ? [] : [`${status} of delivery ${id} is not there`];
  });
}

function unseenStatuses(course: OrderCourse): string[] {
  const { runs, statuses, met, plan } = course;
  const trail = trailOf(runs.at(-1));
  if (!trail?.terminal || isBrokenOff(course) || met.has('reset')) return [];
  // Times of entries come from the worker's clock, so they prove nothing after it has jumped.
  const isTimed = plan.disturbances.every(({ kind }) => kind !== 'clockJumps');
  const read = trail.timeline.filter(({ source }) => source === 'read');
  return statuses.flatMap(({ status, at: began }, index) => {
    const from = Math.max(began, runs[0]?.startedMs ?? 0);
    const due = calmFrom(course, from, foundWithinMs) + foundWithinMs;
    const next = statuses[index + 1];
    const known = read.filter((entry) => !isTimed || Date.parse(entry.at) <= due);
    const isFound = known.some((entry, place) => {
      const leftAt = known[place + 1]?.at;
      const isShownThen = !isTimed || leftAt === undefined || Date.parse(leftAt) >= began;
      return isShownThen && isSameStatus(entry.status, status);
    });
    return !next || next.at <= due || isFound
      ? []
      : [
          `${status} lasted from ${at(course, began)} to ${at(course, next.at)}, and was not found by ${at(course, due)}`,
        ];
  });
}

function wrongEnds(course: OrderCourse): string[] {
  const { runs, statuses } = course;
  const last = runs.at(-1);
  const trail = trailOf(last);
  if (isBrokenOff(course)) return [];
  if (!last || last.isOpen) return []; // see I7
  if (!trail) return [`the last run ended as ${last.status}`];
  const truth = statuses.at(-1)?.status ?? '';
  const seen = trail.timeline.filter(({ source }) => source === 'read');
  return [
    ...(trail.terminal && isSameStatus(trail.status, truth) ? [] : [`it ends with ${trail.status}, not ${truth}`]),
    ...(runs.filter((run) => trailOf(run)?.terminal).length > 1 && !course.met.has('reset')
      ? ['two runs end with the order']
      : []),
    ...seen.flatMap(({ status }) =>
      statuses.some((one) => isSameStatus(one.status, status)) ? [] : [`it shows ${status}, which the order never had`],
    ),
    ...seen
      .slice(0, -1)
      .flatMap(({ status }) => (isSameStatus(status, truth) ? [`${status} is followed by another status`] : [])),
  ];
}

/** What reads found must be the course of the service, perhaps with gaps. */
function statusesThatComeBack({ runs, statuses }: OrderCourse): string[] {
  const seen = trailOf(runs.at(-1))?.timeline.filter(({ source }) => source === 'read') ?? [];
  let from = 0;
  return seen.flatMap(({ status }) => {
    const place = statuses.findIndex((one, index) => index >= from && isSameStatus(one.status, status));
    if (place < 0) return [`${status} comes back in ${seen.map((entry) => entry.status).join(' > ')}`];
    from = place + 1;
    return [];
  });
}

/**
 * A stop in a crowd and a flood of invented deliveries count as many causes. So do signals that are repeated because
 * their answers are lost.
 */
const causesIn = (course: OrderCourse): number => {
  const { plan, asked } = course;
  const repeated = plan.disturbances.map((one) =>
    one.kind === 'callsFail' && one.link === 'temporal' && one.fails === 'answerLost' ? one.forMs / minute : 0,
  );
  const crowds = plan.deeds.map((deed) => (deed.kind === 'stop' ? deed.crowd : 0));
  const deliveries = acknowledgedOf(course).length;
  const happened = [plan.changes, plan.deeds, plan.disturbances, asked].map(({ length }) => length);
  return [1, deliveries, ...crowds, ...repeated, ...happened].reduce((sum, count) => sum + count);
};

function tooManyEvents(course: OrderCourse): string[] {
  const { runs, plan } = course;
  const causes = causesIn(course);
  const events = runs.reduce((sum, run) => sum + run.events.length, 0);
  const attempts = runs.reduce((sum, run) => sum + run.activityAttempts, 0);
  // A run that continues as new reads again, and hands its order over again.
  const more = plan.limits ? 2 : 1;
  const mostEvents = (60 + 40 * causes) * more;
  return [
    ...(events > mostEvents ? [`${events} events for ${causes} causes`] : []),
    ...(attempts > mostAttempts(causes, 1.5 * more, plan.disturbances)
      ? [`${attempts} attempts of activities for ${causes} causes`]
      : []),
  ];
}

function lateEnds(course: OrderCourse): string[] {
  const { runs, statuses, world } = course;
  const last = runs.at(-1);
  if (isBrokenOff(course)) return [];
  if (!last) return course.plan.isRequested || acknowledgedOf(course).length > 0 ? ['no run was started'] : [];
  if (last.isOpen) return [`the run goes on at ${at(course, world.scheduler.now)}`];
  const end = statuses.at(-1)?.at ?? 0;
  // A run that the first delivery starts can only begin then.
  const from = Math.max(end, runs[0]?.startedMs ?? 0);
  const due = calmFrom(course, from, endWithinMs) + endWithinMs;
  const closed = last.closedMs ?? 0;
  return closed > due ? [`the order ended at ${at(course, end)}, the run at ${at(course, closed)}`] : [];
}

function wrongAnswers(course: OrderCourse): string[] {
  const reads = readsOf(course);
  return course.asked.flatMap(({ kind, at: askedAt, answer, error }) => {
    const what = `${kind} at ${at(course, askedAt)}`;
    if (!answer && !error) return course.met.has('terminate') ? [] : [`${what} got no answer`];
    if (isCareless(error) && !course.met.has('terminate') && !course.met.has('reset'))
      return [`${what} failed: ${error}`];
    if (!answer) return [];
    if (kind === 'stop' && answer.outcome === null) return [`${what} was answered before the end`];
    const isRead = answer.terminal || reads.some((read) => read >= askedAt);
    return kind === 'refresh' && !isRead ? [`${what} was answered without a read`] : [];
  });
}

function untold(course: OrderCourse): string[] {
  const { plan, runs, orderId, requestedAt, world, met } = course;
  const last = runs.at(-1);
  const trail = trailOf(last);
  const isTold = plan.receiver !== null && requestedAt !== null && requestedAt < (last?.closedMs ?? 0);
  // A run that was reset forgets what it has told, and tells it again.
  if (!isTold || !trail?.terminal || isBrokenOff(course) || met.has('reset') || met.has('endedByMistake')) return [];
  return untoldStatuses(world, receiverOf(orderId), trail, requestedAt);
}
