import { InvalidInput } from './errors.js';
import { toInputFields, toInputObject, toInputText } from './input-fields.js';

/** What may stand in the second argument of a run that somebody starts; the rest only a run hands to the run that continues it. */
const ofStarters = ['limits', 'maxEvents', 'continues'] as const;

/**
 * Checks the second argument of a run, which any program may send. One that our own run has handed on is taken as it is: such a run
 * `isContinued`. Throws `InvalidInput` that names the field.
 */
export function checkProgress(value: unknown, isContinued: boolean): void {
  if (isContinued || value === undefined || value === null) return;
  const { limits, maxEvents, continues } = toInputFields(value, ofStarters, 'progress');
  const given = limits === undefined ? [] : Object.entries(toInputObject(limits, 'limits'));
  for (const [field, count] of [...given, ['maxEvents', maxEvents ?? 1] as const]) toCount(count, field.slice(0, 40));
  if (continues !== undefined) toInputText(continues, 'continues');
}

/** Reads a positive whole number. Throws `InvalidInput` naming the field. */
export function toCount(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new InvalidInput(`${field}: must be a positive whole number`);
}
