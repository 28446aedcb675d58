// Random plans for business calls: creates, changes, cancels, and calls that change nothing.
import fc from 'fast-check';
import { anyDisturbance, type Disturbance, disturbanceLines } from '../disturbances.js';
import { anyEnd, anyReset, minute, type OperatorDeed, operatorText } from '../draws.js';
import { timetable } from '../in-words.js';
import type { Plan } from '../scenario.js';
import { shorter } from '../search.js';

const operations = ['createOrder', 'createOrder', 'updateOrder', 'cancelOrder', 'companySettings'] as const;

export interface PlannedCall {
  startsMs: number;
  operation: (typeof operations)[number];
  /** Actions of operators. Their times count from the start of the call. */
  deeds: OperatorDeed[];
}

export interface CallPlan extends Plan {
  calls: PlannedCall[];
  disturbances: Disturbance[];
}

const withinMs = 20 * minute;

const anyDeed = (afterMs: fc.Arbitrary<number>): fc.Arbitrary<OperatorDeed> =>
  fc.oneof({ weight: 3, arbitrary: anyReset(afterMs) }, { weight: 1, arbitrary: anyEnd(afterMs) });

const anyCall: fc.Arbitrary<PlannedCall> = fc.record({
  startsMs: fc.integer({ min: 0, max: withinMs }),
  operation: fc.constantFrom(...operations),
  deeds: fc.array(anyDeed(fc.integer({ min: 0, max: 5 * minute })), { maxLength: 1 }),
});

export const anyCallPlan: fc.Arbitrary<CallPlan> = fc.noBias(
  fc.record({
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    calls: fc.array(anyCall, { minLength: 1, maxLength: 8, size: 'max' }),
    disturbances: fc.array(anyDisturbance(withinMs), { maxLength: 10 }),
  }),
);

export function* simplerCallPlans(plan: CallPlan): Iterable<CallPlan> {
  for (const calls of shorter(plan.calls)) if (calls.length > 0) yield { ...plan, calls };
  for (const disturbances of shorter(plan.disturbances)) yield { ...plan, disturbances };
  for (const [index, call] of plan.calls.entries())
    if (call.deeds.length > 0) yield { ...plan, calls: plan.calls.with(index, { ...call, deeds: [] }) };
}

/** The plan in words, one line for each thing that happens, in the order of time. */
export const callPlanText = ({ seed, calls, disturbances }: CallPlan): string =>
  [
    `${calls.length} calls; seed ${seed}`,
    ...timetable([
      ...calls.flatMap(({ startsMs, operation, deeds }, index) => [
        { atMs: startsMs, text: `call ${index + 1}: a caller starts ${operation}` },
        ...deeds.map((deed) => ({
          atMs: startsMs + deed.atMs,
          text: `call ${index + 1}: ${operatorText(deed)}`,
        })),
      ]),
      ...disturbanceLines(disturbances),
    ]),
  ].join('\n');
