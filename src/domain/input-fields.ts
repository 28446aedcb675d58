import { InvalidInput } from './errors.js';

/** Reads an input object that any language may send. Throws `InvalidInput` for a field that is not `known`, so that a
 *  misspelt option is never silently without effect. */
export function toInputFields(value: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidInput('input: must be a JSON object');
  }
  const unknownField = Object.keys(value).find((key) => !known.includes(key));
  if (unknownField !== undefined) {
    throw new InvalidInput(`input: unknown field "${unknownField.slice(0, 40)}"; known are ${known.join(', ')}`);
  }
  return value as Record<string, unknown>;
}
