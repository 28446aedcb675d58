// Values that the random plans of all scenarios draw.
import fc from 'fast-check';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;

/** A word that is always the same, with its own type. */
export const kind = <const K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name);

export const anyOpenStatus = fc.constantFrom('Routing', 'Confirmed', 'Driving', 'Waiting', 'ActiveOrder');

/** An action of an operator on a run. */
export type OperatorDeed =
  | { atMs: number; kind: 'cancel' | 'terminate' }
  /** `which`: 0 for the first workflow task, 1 for the last. */
  | { atMs: number; kind: 'reset'; which: number };

/** Early tasks more often than late ones, since more is done again after them. */
const anyTask = fc.double({ min: 0, max: 1, noNaN: true }).map((share) => share ** 2);

export const anyReset = (atMs: fc.Arbitrary<number>) => fc.record({ atMs, kind: kind('reset'), which: anyTask });

export const anyEnd = (atMs: fc.Arbitrary<number>) =>
  fc.record({ atMs, kind: fc.constantFrom<'cancel' | 'terminate'>('cancel', 'terminate') });

/** The deeds of operators in words. */
export const operatorTexts: Record<OperatorDeed['kind'], string> = {
  cancel: 'an operator cancels the run',
  terminate: 'an operator terminates the run',
  reset: 'an operator resets the run',
};
