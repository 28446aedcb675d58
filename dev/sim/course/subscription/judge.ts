// The promises of faretrail about subscriptions, checked after their course.
import { searchAttributeNames } from '../../../../src/domain/search-attribute-names.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../../../src/domain/subscription/subscription.js';
import type { AnsweredDelivery } from '../../world/delivery-wire.js';
import { calmFrom, isCareless } from '../evidence.js';
import { generalPromises } from '../general-promises.js';
import { durationText } from '../in-words.js';
import { deliveredTo, ofEachOrder, orderPromises } from '../order/judge.js';
import { judgeBy } from '../scenario.js';
import type { PlayedSubscription, SubscriptionCourse } from './course.js';
import type { Deed } from './plan.js';

export const judge = judgeBy<SubscriptionCourse>([
  ...generalPromises,
  ...orderPromises.map(ofEachOrder<SubscriptionCourse>),
  ['A subscription is in force once all is calm, and the service has its address', notInForce],
  ['The service gets no more subscriptions than its answers explain', tooManySubscribers],
  ['I6: events of a subscription grow with changes, not with time', tooManyEvents],
  ['What the service sends to an address in force is taken', refusedDeliveries],
  ['The first verified delivery of an address is known to all ingresses', untoldProofs],
  ['Once one delivery was verified, each needs a signature', takenForgeries],
  ['An ended address takes nothing more', takenAfterEnd],
  ['An end says what is left at the service', untoldSubscribers],
  ['A report is followed by a read of the receipt, within minutes', unreadReports],
  ['Callers get an answer, and it says the truth', wrongAnswers],
]);

const minute = 60_000;
const readWithinMs = 5 * minute;
/** A receipt that the service has refused is looked for again each hour or so. */
const afterForbiddenMs = 75 * minute;
/** An ingress reads the memo of a subscription each second while deliveries come. */
const noticedWithinMs = 5_000;

const at = ({ startedAt }: SubscriptionCourse, instant: number): string => durationText(instant - startedAt);

const endings: readonly Deed['kind'][] = ['end', 'cancel', 'terminate'];
const isEnded = ({ met }: SubscriptionCourse): boolean => endings.some((kind) => met.has(kind));
const deedsOf = ({ plan }: SubscriptionCourse, ...kinds: Deed['kind'][]) =>
  plan.deeds.filter(({ kind }) => kinds.includes(kind));

const read = <T>(data: Uint8Array | null | undefined): T | null =>
  data ? (JSON.parse(Buffer.from(data).toString()) as T) : null;

/** The addresses that the run publishes for the ingress. */
function memoOf({ runs }: PlayedSubscription): SubscriptionMemo['accepted'] {
  const memo = runs.at(-1)?.memo[subscriptionMemoField];
  return read<SubscriptionMemo>(memo?.data)?.accepted ?? [];
}

/** Such as `status_changed/mommha84`. */
function addressIn(url: string): string {
  const [, , , eventType, capability] = new URL(url).pathname.split('/');
  return `${eventType}/${capability?.split('.')[0]}`;
}

/** Deliveries may be silent or unsigned because of what a plan says. */
const explainedAttention = ['subscriptionSilent', 'deliveriesUnverified'];

function notInForce(course: SubscriptionCourse): string[] {
  const { subscriptions, world } = course;
  return subscriptions.flatMap((subscription) => {
    const { eventType, runs } = subscription;
    if (eventType === 'status_changed' && isEnded(course)) return [];
    const last = runs.at(-1);
    if (!last?.isOpen) return [`the run of ${eventType} ended as ${last?.status}`];
    const inForce = memoOf(subscription).filter(({ until }) => until === null);
    const [current] = inForce;
    if (!current || inForce.length > 1) return [`${inForce.length} addresses of ${eventType} are in force`];
    const subscribers = world.service.state.subscribers.of(eventType);
    const isThere = subscribers.some(
      ({ hookAddress }) => addressIn(hookAddress) === `${eventType}/${current.generation}`,
    );
    const code = read<string>(last.searchAttributes[searchAttributeNames.attention]?.data);
    return [
      ...(isThere ? [] : [`the service does not deliver ${eventType} to address ${current.generation}`]),
      ...(code === null || explainedAttention.includes(code) ? [] : [`${eventType} shows ${code}`]),
    ];
  });
}

/** While answers are lost, the pauses between requests double from a second on, so that an hour has twelve. */
const requestsPerFailure = 12;

function tooManySubscribers(course: SubscriptionCourse): string[] {
  const { subscriptions, world, plan } = course;
  const asked = 1 + deedsOf(course, 'rotate', 'move').length + 2 * deedsOf(course, 'reset').length;
  const most = asked + requestsPerFailure * plan.disturbances.length;
  return subscriptions.flatMap(({ eventType }) => {
    const { length } = world.service.state.subscribers.of(eventType);
    return length > most ? [`${length} subscriptions to ${eventType}, at most ${most} are explained`] : [];
  });
}

function tooManyEvents({ subscriptions, plan }: SubscriptionCourse): string[] {
  const causes = 1 + plan.deeds.length + plan.disturbances.length;
  return subscriptions.flatMap(({ eventType, runs }) => {
    // A run that was reset begins with events of the former one.
    const events = Math.max(0, ...runs.map((run) => run.events.length));
    return events > 100 + 50 * causes ? [`${events} events of ${eventType} for ${causes} causes`] : [];
  });
}

const takenOutcomes = ['accepted', 'parked', 'unchecked', 'test', 'employee'];
const isTaken = ({ outcome }: AnsweredDelivery): boolean => takenOutcomes.includes(outcome);

const refusedInOrder = ['ended', 'noSecretYet'];

function refusedDeliveries(course: SubscriptionCourse): string[] {
  const { world, startedAt } = course;
  // A reset forgets addresses and secrets, and a short grace ends addresses.
  const enders = [
    ...deedsOf(course, 'reset', ...endings),
    ...course.plan.deeds.filter((deed) => 'graceMs' in deed && deed.graceMs !== null),
  ];
  const firstEnd = startedAt + Math.min(...enders.map(({ atMs }) => atMs));
  return world.deliveries.answered.flatMap((one) => {
    if (one.from !== 'service' || isTaken(one) || (refusedInOrder.includes(one.outcome) && one.at >= firstEnd))
      return [];
    return [`a delivery to address ${addressIn(one.url)} was answered with ${one.outcome} at ${at(course, one.at)}`];
  });
}

function untoldProofs(course: SubscriptionCourse): string[] {
  const { subscriptions, world, plan, startedAt } = course;
  // The report may be among the messages that were left out. The next one comes within an hour.
  if (plan.deeds.some((deed) => deed.kind === 'reset' && deed.leavesOut)) return [];
  const about = { startedAt, plan: { disturbances: plan.disturbances, deeds: deedsOf(course, 'reset') } };
  const open = subscriptions.filter(({ runs }) => runs.at(-1)?.isOpen);
  return open.flatMap((subscription) =>
    memoOf(subscription).flatMap(({ generation, secrets, verified }) => {
      const address = `${subscription.eventType}/${generation}`;
      const { subscribers } = world.service.state;
      const subscriber = subscribers.all().find(({ hookAddress }) => addressIn(hookAddress) === address);
      if (!subscriber || secrets.length === 0 || verified) return [];
      const knownAt = calmFrom(about, Date.parse(subscriber.createdAt), minute) + minute;
      const proven = world.deliveries.answered.find(
        (one) =>
          one.from === 'service' && one.outcome === 'accepted' && addressIn(one.url) === address && one.at > knownAt,
      );
      return proven
        ? [`a signed delivery came to ${address} at ${at(course, proven.at)}, but the run was never told`]
        : [];
    }),
  );
}

/** The deliveries that reached a run of an order. */
const signalledTo = ({ world }: SubscriptionCourse): ReadonlySet<string> =>
  new Set(world.namespace.all().flatMap(({ type, events }) => (type === 'followOrder' ? deliveredTo(events) : [])));

const forgedOutcomes = ['accepted', 'parked'];

function takenForgeries(course: SubscriptionCourse): string[] {
  const { world, subscriptions, plan, met } = course;
  // A run that was reset forgets which deliveries were verified.
  if (met.has('reset')) return [];
  const verified = new Map(
    subscriptions.flatMap((subscription) =>
      memoOf(subscription).map((one) => [
        `${subscription.eventType}/${one.generation}`,
        Date.parse(one.verified?.at ?? ''),
      ]),
    ),
  );
  const signalled = signalledTo(course);
  return world.deliveries.answered.flatMap((one) => {
    const since = verified.get(addressIn(one.url)) ?? Number.NaN;
    if (one.from !== 'stranger' || Number.isNaN(since)) return [];
    const about = { startedAt: course.startedAt, plan: { disturbances: plan.disturbances, deeds: [] } };
    const isProven = one.at > calmFrom(about, since, readWithinMs) + readWithinMs;
    const isSignalled = one.deliveryId !== undefined && signalled.has(one.deliveryId);
    const isWrong = isProven && (forgedOutcomes.includes(one.outcome) || isSignalled);
    const what = isSignalled ? 'reached an order' : `was ${one.outcome}`;
    return isWrong
      ? [`verified since ${at(course, since)}, but a forged delivery at ${at(course, one.at)} ${what}`]
      : [];
  });
}

/** When a caller learned that the subscription has ended; null if none did. */
const toldEnd = ({ asked }: SubscriptionCourse) =>
  asked.flatMap(({ answer }) => (answer && 'endedAt' in answer ? [answer] : []));

function takenAfterEnd(course: SubscriptionCourse): string[] {
  const [end] = toldEnd(course);
  if (!end || course.met.has('reset')) return [];
  // The run's clock is that of Temporal, which is always right.
  const endedAt = Date.parse(end.endedAt) + noticedWithinMs;
  const about = { startedAt: course.startedAt, plan: { ...course.plan, deeds: [] } };
  return course.world.deliveries.answered.flatMap((one) => {
    const isAbout = new URL(one.url).pathname.includes('/status_changed/');
    const isLate = isAbout && one.at > calmFrom(about, endedAt, minute) && ['accepted', 'parked'].includes(one.outcome);
    return isLate
      ? [`ended at ${at(course, Date.parse(end.endedAt))}, but ${one.outcome} at ${at(course, one.at)}`]
      : [];
  });
}

function untoldSubscribers(course: SubscriptionCourse): string[] {
  const [end] = toldEnd(course);
  if (!end || course.met.has('reset')) return [];
  const told = [...end.removed, ...end.stillRegistered];
  const untold = course.world.service.state.subscribers.of('status_changed').filter(({ id }) => !told.includes(id));
  return untold.length > end.unclear
    ? [`${untold.length} subscriptions are left untold, but only ${end.unclear} are called unclear`]
    : [];
}

function unreadReports(course: SubscriptionCourse): string[] {
  const { world, plan, startedAt, met } = course;
  const about = { startedAt, plan: { disturbances: plan.disturbances, deeds: [] } };
  const withinMs = met.has('service 403') ? afterForbiddenMs : readWithinMs;
  return world.ingress.acknowledged.flatMap(({ delivery, at: cameAt }) => {
    const { eventType, orderId } = delivery;
    if (eventType !== 'business_report' || orderId === null) return [];
    const due = calmFrom(about, cameAt, readWithinMs) + withinMs;
    const reads = world.service.state.ledger.entries({ orderId, operation: 'orderReceipt' });
    const isRead = reads.some((entry) => Date.parse(entry.at) >= cameAt && Date.parse(entry.at) <= due);
    return isRead ? [] : [`${orderId}: reported at ${at(course, cameAt)}, not read by ${at(course, due)}`];
  });
}

function wrongAnswers(course: SubscriptionCourse): string[] {
  const { asked, met } = course;
  const signalled = signalledTo(course);
  const isCutShort = met.has('terminate') || met.has('reset');
  return asked.flatMap(({ kind, at: askedAt, answer, error }) => {
    const what = `${kind} at ${at(course, askedAt)}`;
    if (!answer && !error) return isCutShort ? [] : [`${what} got no answer`];
    if (isCareless(error) && !isCutShort) return [`${what} failed: ${error}`];
    if (!answer) return [];
    if ('handedOver' in answer) {
      const isThere = !['signalled', 'started'].includes(answer.handedOver) || signalled.has(answer.deliveryId);
      return isThere ? [] : [`${what} was answered, but delivery ${answer.deliveryId} has reached no order`];
    }
    const isNew = !('generations' in answer) || answer.state === 'active';
    return isNew ? [] : [`${what} was answered, but the subscription is ${answer.state}`];
  });
}
