// Random plans for one ride: the course of its order, changes, decisions and faults, most of them around the create.
import fc from 'fast-check';
import { anyDisturbance, type Disturbance, disturbanceLines } from '../disturbances.js';
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
import { durationText, timetable } from '../in-words.js';
import { anyReceiver, type Receiver, receiverText } from '../receiver.js';
import type { Plan } from '../scenario.js';
import { shorter } from '../search.js';

/** Something that a caller or an operator does to the run. */
export type RideDeed = OperatorDeed | { atMs: number; kind: 'update' | 'cancelRide' };

export interface RidePlan extends Plan {
  isQuoted: boolean;
  /** The statuses of the order, each with the time since the one before. */
  changes: { afterMs: number; status: string }[];
  endAfterMs: number;
  /** Are changes delivered? */
  isAnnounced: boolean;
  /** Does the person who decides an unknown outcome first try again without a look at the service? */
  isHasty: boolean;
  /** The run continues as new after so many events. */
  maxEvents: number | null;
  wantsReceipt: boolean;
  receiver: Receiver | null;
  deeds: RideDeed[];
  disturbances: Disturbance[];
}

const afterMs = fc.integer({ min: 5 * second, max: 20 * minute });
const early = 20 * second;
const late = 60 * minute;

const anyDeed = (withinMs: number): fc.Arbitrary<RideDeed> => {
  const atMs = fc.integer({ min: 0, max: withinMs });
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ atMs, kind: kind('update') }) },
    { weight: 2, arbitrary: fc.record({ atMs, kind: kind('cancelRide') }) },
    { weight: 3, arbitrary: anyReset(atMs) },
    { weight: 1, arbitrary: anyEnd(atMs) },
  );
};

export const anyRidePlan: fc.Arbitrary<RidePlan> = fc.noBias(
  fc.record({
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    isQuoted: fc.boolean(),
    changes: fc.array(fc.record({ afterMs, status: anyOpenStatus }), { maxLength: 4 }),
    endAfterMs: afterMs,
    isAnnounced: fc.boolean(),
    isHasty: fc.boolean(),
    maxEvents: fc.constantFrom(null, null, 40),
    wantsReceipt: fc.boolean(),
    receiver: anyReceiver(late),
    deeds: fc.array(fc.oneof(anyDeed(early), anyDeed(late)), { maxLength: 3 }),
    disturbances: fc.array(fc.oneof(anyDisturbance(early), anyDisturbance(late)), { maxLength: 8 }),
  }),
);

export function* simplerRidePlans(plan: RidePlan): Iterable<RidePlan> {
  for (const disturbances of shorter(plan.disturbances)) yield { ...plan, disturbances };
  for (const deeds of shorter(plan.deeds)) yield { ...plan, deeds };
  for (const changes of shorter(plan.changes)) yield { ...plan, changes };
  if (plan.maxEvents !== null) yield { ...plan, maxEvents: null };
  if (plan.isQuoted) yield { ...plan, isQuoted: false };
  if (plan.isAnnounced) yield { ...plan, isAnnounced: false };
  if (plan.isHasty) yield { ...plan, isHasty: false };
  if (plan.wantsReceipt) yield { ...plan, wantsReceipt: false };
  if (plan.receiver) yield { ...plan, receiver: null };
}

/** The plan in words, one line for each thing that happens, in the order of time. */
export function ridePlanText(plan: RidePlan): string {
  const happens = [
    ...plan.deeds.map((deed) => ({
      atMs: deed.atMs,
      text: isOfOperator(deed) ? operatorText(deed) : deedTexts[deed.kind],
    })),
    ...disturbanceLines(plan.disturbances),
  ];
  const statuses = [...plan.changes, { afterMs: plan.endAfterMs, status: 'Completed' }];
  return [
    `a caller requests a ride${plan.isQuoted ? ' with a quote' : ''}; seed ${plan.seed}`,
    `its order becomes ${statuses.map(({ afterMs: after, status }) => `${status} after ${durationText(after)}`).join(', ')}`,
    plan.isAnnounced ? 'changes are delivered' : 'nothing is delivered',
    ...(plan.wantsReceipt ? ['the caller wants the receipt'] : []),
    ...(plan.receiver ? [receiverText(plan.receiver)] : []),
    ...(plan.isHasty ? ['a person who has to decide first tries again'] : []),
    ...(plan.maxEvents === null ? [] : [`the run continues as new after ${plan.maxEvents} events`]),
    ...timetable(happens),
  ].join('\n');
}

const deedTexts = {
  update: 'a caller changes the ride',
  cancelRide: 'a caller cancels the ride',
};
