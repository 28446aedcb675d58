// Random plans for many orders of one account, which share its budget, its watch and its tokens.
import fc from 'fast-check';
import { anyDisturbance, anyWatchDisturbance, disturbanceLines } from '../disturbances.js';
import { hour, kind, minute } from '../draws.js';
import { timetable } from '../in-words.js';
import { beginText, type OrderStory, orderParts, simplerStories, storyLines } from '../order/plan.js';
import type { Plan } from '../scenario.js';
import { shorter } from '../search.js';

export interface AccountPlan extends Plan {
  watch: 'real' | 'model';
  /** Requests that the service allows per second. */
  requestsPerSecond: number;
  /** Number of worker processes. */
  workers: number;
  orders: (OrderStory & { startsMs: number })[];
}

const withinMs = 30 * minute;
const startsWithinMs = 20 * minute;
const mostOrders = 50;

const anyOrder: fc.Arbitrary<AccountPlan['orders'][number]> = fc.record({
  startsMs: fc.integer({ min: 0, max: startsWithinMs }),
  ...orderParts({ longestMs: 8 * minute, deedsWithinMs: withinMs, mostDeeds: 1 }),
});

const seed = fc.integer({ min: 1, max: 2 ** 31 - 1 });

/** Orders of some minutes, with the real watch. */
export const anyAccountPlan: fc.Arbitrary<AccountPlan> = fc.noBias(
  fc.record({
    seed,
    watch: kind('real'),
    requestsPerSecond: fc.constantFrom(4, 16),
    workers: fc.constantFrom(1, 2),
    orders: fc.array(anyOrder, { minLength: 1, maxLength: mostOrders, size: 'max' }),
    disturbances: fc.array(
      fc.oneof(
        { weight: 3, arbitrary: anyDisturbance(withinMs) },
        { weight: 1, arbitrary: anyWatchDisturbance(withinMs) },
      ),
      { maxLength: 8 },
    ),
  }),
);

const longWithinMs = 3 * hour;

/** Few orders of some hours, with a model of the watch. */
export const anyOrderPlan: fc.Arbitrary<AccountPlan> = fc.noBias(
  fc.record({
    seed,
    watch: kind('model'),
    requestsPerSecond: fc.constant(16),
    workers: fc.constant(1),
    orders: fc.array(
      fc.record({
        startsMs: fc.integer({ min: 0, max: 10 * minute }),
        ...orderParts({ longestMs: 40 * minute, deedsWithinMs: longWithinMs, mostDeeds: 4 }),
      }),
      { minLength: 1, maxLength: 5, size: 'max' },
    ),
    disturbances: fc.array(anyDisturbance(longWithinMs), { maxLength: 12 }),
  }),
);

export function* simplerAccountPlans(plan: AccountPlan): Iterable<AccountPlan> {
  for (const orders of shorter(plan.orders)) if (orders.length > 0) yield { ...plan, orders };
  for (const disturbances of shorter(plan.disturbances)) yield { ...plan, disturbances };
  if (plan.workers > 1) yield { ...plan, workers: 1 };
  for (const [index, order] of plan.orders.entries()) {
    const withOrder = (simpler: AccountPlan['orders'][number]): AccountPlan => ({
      ...plan,
      orders: plan.orders.with(index, simpler),
    });
    for (const story of simplerStories(order)) yield withOrder({ ...order, ...story });
  }
}

/** The plan in words, one line for each thing that happens, in the order of time. */
export const accountPlanText = (plan: AccountPlan): string => {
  const { seed, requestsPerSecond, workers, orders, disturbances } = plan;
  return [
    `${orders.length} orders of an account with ${requestsPerSecond} requests per second, ${workers} workers; seed ${seed}`,
    ...timetable([...orders.flatMap(linesOf), ...disturbanceLines(disturbances)]),
  ].join('\n');
};

const linesOf = ({ startsMs, ...story }: AccountPlan['orders'][number], index: number) =>
  [{ atMs: 0, text: `the order is there; ${beginText(story)}` }, ...storyLines(story)].map(({ atMs, text }) => ({
    atMs: startsMs + atMs,
    text: `o${index + 1}: ${text}`,
  }));
