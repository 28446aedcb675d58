import { InvalidInput } from './errors.js';
import { maxJsonDepth, measureJson, shownText } from './json-text.js';
import { UndecodablePayload } from './undecodable.js';

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
