import { InvalidInput } from './errors.js';
import { maxJsonDepth, measureJson, shownText } from './json.js';

/**
 * Stands for a payload that our converter cannot read. Every parser refuses it by name, so what a stranger sends is refused or
 * ignored, where an error in the converter would stop the run. `reason` is one line and holds no part of the payload.
 */
export class UndecodablePayload {
  readonly reason: string;
  /** Encrypted: a worker with other keys may read it. `missing`: we do not hold its key; null: no key would help. */
  readonly key: 'missing' | 'damaged' | null;

  constructor(reason: string, key: UndecodablePayload['key'] = null) {
    this.reason = reason;
    this.key = key;
  }
}

/** In the metadata of an encrypted payload that its key does not open. Only our codec sets it, on the way to our converter. */
export const damagedField = 'damaged';

const maxText = 200;

/** Reads an input object of whatever fields. Throws `InvalidInput`. */
export function toInputObject(value: unknown, name = 'input'): Record<string, unknown> {
  if (value instanceof UndecodablePayload) throw new InvalidInput(`${name}: cannot be decoded: ${value.reason}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidInput(`${name}: must be a JSON object`);
  }
  return value as Record<string, unknown>;
}

/** Reads an input object that any language may send. Throws `InvalidInput` for a field that is not `known`, so that a
 *  misspelt option is never silently without effect. */
export function toInputFields(value: unknown, known: readonly string[], name = 'input'): Record<string, unknown> {
  const fields = toInputObject(value, name);
  const unknownField = Object.keys(fields).find((key) => !known.includes(key));
  if (unknownField !== undefined) {
    throw new InvalidInput(
      `${name}: unknown field "${shownText(unknownField.slice(0, 40))}"; known are ${known.join(', ')}`,
    );
  }
  return fields;
}

/** Reads a text of 1 to 200 characters. Throws `InvalidInput` naming the field. */
export function toInputText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '' || value.length > maxText) {
    throw new InvalidInput(`${field}: must be a text of 1 to ${maxText} characters`);
  }
  return value;
}

/** The same for a text that becomes a name, such as a workflow id: without control and format characters. */
export function toInputName(value: unknown, field: string): string {
  const text = toInputText(value, field);
  if (shownText(text) !== text) throw new InvalidInput(`${field}: must not hold control or format characters`);
  return text;
}

/** Checks that a body of others is no deeper than what a reader of JSON takes. Throws `InvalidInput`. */
export function checkDepth(json: string, field: string): void {
  if (measureJson(json).depth > maxJsonDepth)
    throw new InvalidInput(`${field}: nested deeper than ${maxJsonDepth} levels`);
}

/** Reads the argument of a message that takes none: nothing, or an empty object. Throws `InvalidInput`. */
export function parseNoInput(value: unknown): void {
  toInputFields(value ?? {}, []);
}

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
