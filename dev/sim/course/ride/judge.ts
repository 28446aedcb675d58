// The promises of faretrail about a ride, checked after its course. The numbers are those of the invariants.
import type { OrderId } from '../../../../src/domain/keys.js';
import type { RideEvent, RideResult } from '../../../../src/domain/ride/ride.js';
import { attributesOf, type Event } from '../../sdk/history.js';
import { calmFrom, isCareless, mostAttempts, resultOf } from '../evidence.js';
import { generalPromises } from '../general-promises.js';
import { durationText } from '../in-words.js';
import { takenBy, untoldStatuses } from '../receiver.js';
import { judgeBy } from '../scenario.js';
import { hasEnded, type RideCourse, receiverUrl } from './course.js';

export const judge = judgeBy<RideCourse>([
  ...generalPromises,
  ['I6: events grow with changes, not with time', tooManyEvents],
  ['I7: the ride ends soon after its order', lateEnds],
  ['I9: one ride is one order, and no order is without its ride', wrongOrders],
  ['Callers get an answer, and it says the truth', wrongAnswers],
  ['A receipt that is wanted comes', missingReceipts],
  ['Receivers are told each change at least once, in order', untold],
]);

const minute = 60_000;
/** The end of the order is found, and its receipt has stayed the same for ten minutes. */
const endWithinMs = 40 * minute;

const createdOrders = ({ world }: RideCourse): OrderId[] =>
  world.service.state.rides.all().map(({ orderId }) => orderId as OrderId);

const isBrokenOff = ({ met }: RideCourse): boolean => met.has('cancel') || met.has('terminate');

function tooManyEvents({ runs, plan, asked }: RideCourse): string[] {
  const events = runs.reduce((sum, run) => sum + run.events.length, 0);
  const attempts = runs.reduce((sum, run) => sum + run.activityAttempts, 0);
  // A receipt is read until it has stayed the same for ten minutes.
  const looks = plan.wantsReceipt ? 4 : 0;
  const causes = plan.changes.length + 1 + asked.length + plan.disturbances.length + plan.deeds.length + looks;
  const mostEvents = (150 + 60 * causes) * (plan.maxEvents === null ? 1 : 2);
  return [
    ...(events > mostEvents ? [`${events} events for ${causes} causes`] : []),
    ...(attempts > mostAttempts(causes, 3, plan.disturbances)
      ? [`${attempts} attempts of activities for ${causes} causes`]
      : []),
  ];
}

function lateEnds(course: RideCourse): string[] {
  const { runs, world, startedAt, asked } = course;
  const last = runs.at(-1);
  if (isBrokenOff(course)) return [];
  if (!last) return ['no run was started'];
  if (last.isOpen) return [`the ride goes on after ${durationText(world.scheduler.now - startedAt)}`];
  const [orderId] = createdOrders(course);
  const order = orderId && world.service.state.orders.find('business', orderId);
  const decisions = asked.map(({ at }) => at);
  const orderEnd = order?.steps.at(-1)?.at ?? startedAt;
  const from = Math.max(orderEnd, ...decisions);
  const due = calmFrom(course, from, endWithinMs) + endWithinMs;
  const closed = last.closedMs ?? 0;
  const offset = (instant: number): string => durationText(instant - startedAt);
  return closed > due ? [`the order ended at ${offset(orderEnd)}, the ride at ${offset(closed)}`] : [];
}

function wrongOrders(course: RideCourse): string[] {
  const { runs, world, met } = course;
  const created = createdOrders(course);
  const [orderId] = created;
  if (created.length > 1) return [`${created.length} orders were created`];
  const last = runs.at(-1);
  if (!last || last.isOpen) return [];
  if (isBrokenOff(course)) {
    // A terminated run can do nothing more. A cancelled run must still get its order followed, if it knows the order.
    // What an earlier run knew before a reset does not count.
    const isKnown = orderId !== undefined && mentions(last.events, orderId);
    const isFollowed = world.namespace.runsOf(`order/business/${orderId}`).length > 0;
    return met.has('terminate') || !isKnown || isFollowed
      ? []
      : [`nothing follows order ${orderId} of the cancelled ride`];
  }
  const result = resultOf<RideResult>(last);
  if (!result) return orderId === undefined ? [] : [`order ${orderId} exists, and the ride ended as ${last.status}`];
  if (result.outcome === 'withdrawn') return orderId === undefined ? [] : [`withdrawn, but order ${orderId} exists`];
  return result.orderId === orderId ? [] : [`the ride has order ${result.orderId}, the service ${orderId}`];
}

const mentions = (events: readonly Event[], orderId: OrderId): boolean =>
  events.some((event) =>
    (attributesOf(event, 'activityTaskCompleted')?.result?.payloads ?? []).some(({ data }) =>
      Buffer.from(data ?? []).includes(orderId),
    ),
  );

function wrongAnswers(course: RideCourse): string[] {
  const { asked, startedAt, met, world } = course;
  const [orderId] = createdOrders(course);
  return asked.flatMap(({ kind, at, answer, error }) => {
    const what = `${kind} at ${durationText(at - startedAt)}`;
    if (!answer && !error) return met.has('terminate') || met.has('reset') ? [] : [`${what} got no answer`];
    if (isCareless(error) && !met.has('terminate') && !met.has('reset')) return [`${what} failed: ${error}`];
    if (!answer || orderId === undefined) return [];
    if (kind === 'cancelRide' && !hasEnded(world, orderId)) return [`${what} was answered, but the order goes on`];
    const note = world.service.state.rides.find(orderId)?.order.note_to_driver;
    return kind === 'update' && note === undefined ? [`${what} was answered, but changed nothing`] : [];
  });
}

function missingReceipts(course: RideCourse): string[] {
  const result = resultOf<RideResult>(course.runs.at(-1));
  if (isBrokenOff(course) || result?.outcome !== 'completed') return [];
  const isWanted = course.plan.wantsReceipt;
  return isWanted === (result.receipt !== null) ? [] : [isWanted ? 'there is none' : 'nobody wanted it'];
}

function untold(course: RideCourse): string[] {
  const { plan, runs, met, world } = course;
  const result = resultOf<RideResult>(runs.at(-1));
  // A run that was reset forgets what it has told, and tells it again.
  if (!plan.receiver || !result || isBrokenOff(course) || met.has('reset')) return [];
  const told = takenBy<Partial<RideEvent>>(world, receiverUrl);
  const ends = told.filter(({ data }) => data?.stage === 'ended');
  const isEndTold = ends.length === 1 && ends[0]?.data?.outcome === result.outcome;
  const named = told.find(({ type, data }) => type === 'ride.changed' && data?.orderId !== null);
  const since = Date.parse(named?.timestamp ?? '');
  return [
    ...(isEndTold ? [] : [`told ${ends.length} ends, ${result.outcome} was the outcome`]),
    ...(result.trail ? untoldStatuses(world, receiverUrl, result.trail, since) : []),
  ];
}
