// Values that the random plans of all scenarios draw.
import fc from 'fast-check';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;

/** A word that is always the same, with its own type. */
export const kind = <const K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name);

export const anyOpenStatus = fc.constantFrom('Routing', 'Confirmed', 'Driving', 'Waiting', 'ActiveOrder');

/** An action of an operator on a run. */
export type OperatorDeed = { atMs: number; kind: 'cancel' | 'terminate' } | ({ atMs: number; kind: 'reset' } & Reset);

export interface Reset {
  /** 0 for the first workflow task, 1 for the last. */
  which: number;
  /** Are later signals and updates not applied again? */
  leavesOut: boolean;
}

/** From 0 to 1, all equally likely. `fc.double` draws mostly numbers close to 0. */
export const anyShare = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000);

/** Early tasks more often than late ones, since more is done again after them. */
const which = anyShare.map((share) => share ** 2);
const leavesOut = fc.constantFrom(false, false, true);

export const anyReset = (atMs: fc.Arbitrary<number>) => fc.record({ atMs, kind: kind('reset'), which, leavesOut });

export const anyEnd = (atMs: fc.Arbitrary<number>) =>
  fc.record({ atMs, kind: fc.constantFrom<'cancel' | 'terminate'>('cancel', 'terminate') });

/** The deeds of operators in words. `run`: such as `the run`. */
export function operatorText(deed: Pick<OperatorDeed, 'kind'> & Partial<Reset>, run = 'the run'): string {
  const without = deed.leavesOut ? ', without the messages that came later' : '';
  return `an operator ${deed.kind}s ${run}${without}`;
}

/** Is it a deed of an operator? */
export const isOfOperator = <D extends { kind: string }>(deed: D): deed is Extract<D, OperatorDeed> =>
  ['cancel', 'terminate', 'reset'].includes(deed.kind);
