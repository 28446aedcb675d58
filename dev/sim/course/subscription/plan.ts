// Random plans for the subscriptions of an account: deliveries with signatures, strangers, and people who change them.
import fc from 'fast-check';
import { anyDisturbance, disturbanceLines } from '../disturbances.js';
import { anyEnd, anyReset, isOfOperator, kind, minute, type OperatorDeed, operatorText, second } from '../draws.js';
import { durationText, type Line, timetable } from '../in-words.js';
import { beginText, type OrderStory, orderParts, storyLines } from '../order/plan.js';
import type { Plan } from '../scenario.js';
import { shorter } from '../search.js';

/** Ways in which a stranger who knows the address imitates the service. */
export const forgeries = ['wrongSecret', 'unsigned', 'notJson', 'wrongPath'] as const;

/** Something that happens to the subscription to changes of status, or to what comes to its address. */
export type Deed =
  | OperatorDeed
  | ({ atMs: number } /** `graceMs`: null for that of the subscription, a day. */ & (
      | { kind: 'rotate' | 'move'; graceMs: number | null }
      | { kind: 'end' }
      | { kind: 'forgedDeliveries'; how: (typeof forgeries)[number]; count: number; everyMs: number }
      /** The service sends a delivery that names no order. */
      | { kind: 'namelessDelivery' }
      /** A person decides about the oldest parked delivery. */
      | { kind: 'route' | 'discard' }
    ));

/** Settings of the service's deliveries. */
export interface Sending {
  /** The chance that it never sends one. */
  lost: number;
  duplicated: number;
  delayUpToMs: number;
  retries: number;
}

export interface SubscriptionPlan extends Plan {
  sending: Sending;
  /** Is there a subscription to reports, too? */
  hasReports: boolean;
  /** May workers list and delete subscribers? */
  isManaged: boolean;
  orders: (OrderStory & { startsMs: number })[];
  deeds: Deed[];
}

const withinMs = 60 * minute;

const anyOrder: fc.Arbitrary<SubscriptionPlan['orders'][number]> = fc
  .record({
    startsMs: fc.integer({ min: 0, max: withinMs }),
    ...orderParts({ longestMs: 8 * minute, deedsWithinMs: withinMs, mostDeeds: 0 }),
  })
  .map((order) => ({ ...order, limits: null, receiver: null }));

/** The first request for a subscription is made within this time. */
const early = 20 * second;
const atMs = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: withinMs }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: early }) },
);
const graceMs = fc.constantFrom(null, null, 0, 5 * minute);

const anyDeed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ atMs, kind: fc.constantFrom<'rotate' | 'move'>('rotate', 'move'), graceMs }) },
  { weight: 2, arbitrary: anyReset(atMs) },
  { weight: 1, arbitrary: anyEnd(atMs) },
  { weight: 1, arbitrary: fc.record({ atMs, kind: kind('end') }) },
  {
    weight: 4,
    arbitrary: fc.record({
      atMs,
      kind: kind('forgedDeliveries'),
      how: fc.constantFrom(...forgeries),
      count: fc.constantFrom(1, 30),
      everyMs: fc.constantFrom(0, 20 * second),
    }),
  },
  { weight: 2, arbitrary: fc.record({ atMs, kind: kind('namelessDelivery') }) },
  { weight: 3, arbitrary: fc.record({ atMs, kind: fc.constantFrom<'route' | 'discard'>('route', 'discard') }) },
);

export const anySubscriptionPlan: fc.Arbitrary<SubscriptionPlan> = fc.noBias(
  fc.record({
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    sending: fc.record({
      lost: fc.constantFrom(0, 0, 0.1, 0.5),
      duplicated: fc.constantFrom(0, 0.3),
      delayUpToMs: fc.constantFrom(0, 2 * second, 5 * minute),
      retries: fc.constantFrom(0, 3),
    }),
    hasReports: fc.boolean(),
    isManaged: fc.boolean(),
    orders: fc.array(anyOrder, { minLength: 1, maxLength: 3, size: 'max' }),
    deeds: fc.array(anyDeed, { maxLength: 5, size: 'max' }),
    disturbances: fc.array(fc.oneof(anyDisturbance(early), anyDisturbance(withinMs)), { maxLength: 8 }),
  }),
);

export function* simplerSubscriptionPlans(plan: SubscriptionPlan): Iterable<SubscriptionPlan> {
  for (const orders of shorter(plan.orders)) yield { ...plan, orders };
  for (const disturbances of shorter(plan.disturbances)) yield { ...plan, disturbances };
  for (const deeds of shorter(plan.deeds)) yield { ...plan, deeds };
  if (plan.hasReports) yield { ...plan, hasReports: false };
  if (plan.isManaged) yield { ...plan, isManaged: false };
  const plain: Sending = { lost: 0, duplicated: 0, delayUpToMs: 0, retries: 0 };
  for (const name of Object.keys(plain) as (keyof Sending)[])
    if (plan.sending[name] > 0) yield { ...plan, sending: { ...plan.sending, [name]: 0 } };
  for (const [index, order] of plan.orders.entries())
    for (const changes of shorter(order.changes))
      yield { ...plan, orders: plan.orders.with(index, { ...order, changes }) };
}

/** The plan in words, one line for each thing that happens, in the order of time. */
export function subscriptionPlanText(plan: SubscriptionPlan): string {
  const { seed, sending, hasReports, isManaged, orders, deeds, disturbances } = plan;
  const { lost, duplicated, delayUpToMs, retries } = sending;
  return [
    `a caller subscribes to changes of status${hasReports ? ' and to reports' : ''}; seed ${seed}`,
    ...(isManaged ? ['workers may list and delete subscribers'] : []),
    `of the deliveries ${lost * 100} % are lost and ${duplicated * 100} % come twice, up to ${durationText(delayUpToMs)} late, with ${retries} retries`,
    ...timetable([...orders.flatMap(linesOf), ...deeds.map(lineOf), ...disturbanceLines(disturbances)]),
  ].join('\n');
}

const linesOf = ({ startsMs, ...story }: SubscriptionPlan['orders'][number], index: number): Line[] =>
  [{ atMs: 0, text: `the order is there; ${beginText(story)}` }, ...storyLines(story, { isAnnounced: true })].map(
    ({ atMs: after, text }) => ({ atMs: startsMs + after, text: `o${index + 1}: ${text}` }),
  );

const deedTexts = {
  end: 'a caller ends the subscription',
  namelessDelivery: 'the service sends a delivery that names no order',
  route: 'a person gives the oldest parked delivery to o1',
  discard: 'a person discards the oldest parked delivery',
};

function lineOf(deed: Deed): Line {
  return { atMs: deed.atMs, text: textOf(deed) };
}

function textOf(deed: Deed): string {
  if (isOfOperator(deed)) return operatorText(deed, 'the run of the subscription');
  if (deed.kind === 'rotate' || deed.kind === 'move') {
    const grace = deed.graceMs === null ? 'the usual grace' : `a grace of ${durationText(deed.graceMs)}`;
    return `a caller wants a new ${deed.kind === 'rotate' ? 'path' : 'public URL'}, with ${grace} for the old address`;
  }
  if (deed.kind === 'forgedDeliveries')
    return `a stranger sends ${deed.count} forged deliveries (${deed.how}), one each ${durationText(deed.everyMs)}`;
  return deedTexts[deed.kind];
}
