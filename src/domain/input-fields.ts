import { InvalidInput } from './errors.js';
import * as s from './schema.js';

/** Replaces a payload that nothing can read. Every parser refuses it. `reason` is one line and holds no part of the payload. */
export class UndecodablePayload {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Our codec gives this encoding to what another program has encrypted and its key does not open. */
export const damagedEncoding = 'binary/damaged';

/** Reads an input, or its field `name`. Throws `InvalidInput` that names the field. */
export function readInput<Out>(schema: s.Schema<Out, unknown>, value: unknown, name = ''): Out {
  if (value instanceof UndecodablePayload)
    throw new InvalidInput(`${name || 'input'}: cannot be decoded: ${value.reason}`);
  return schema.read(value, name);
}

/** The parser of an input. It throws `InvalidInput` that names the field. */
export const parserOf =
  <Out>(schema: s.Schema<Out, unknown>) =>
  (value: unknown): Out =>
    readInput(schema, value);

/** Reads an input object with any fields. Throws `InvalidInput`. */
export const toInputObject = (value: unknown, name?: string): Record<string, unknown> =>
  readInput(s.anyObject(), value, name);

const nothing = s.inputOf({});

/** Reads the argument of a message that takes none: nothing, or an empty object. Throws `InvalidInput`. */
export const parseNoInput = (value: unknown): void => void readInput(nothing, value ?? {});

/** What a starter may put into the second argument of a run; `followOrder` checks `left`. Only a run that continues as new sets other
 *  fields. */
const progressOfStarters = s.inputOf({
  limits: s.absentOr(s.anything),
  maxEvents: s.optional(s.anything),
  left: s.absentOr(s.anything),
});

/**
 * Checks the second argument of a run, which any program may send. Of a run that `isContinued` it comes from our own run and is not
 * checked. Throws `InvalidInput` that names the field.
 */
export function checkProgress(value: unknown, isContinued: boolean): void {
  if (isContinued || value === undefined || value === null) return;
  const { limits = {}, maxEvents = 1 } = readInput(progressOfStarters, value, 'progress');
  for (const [field, given] of [...Object.entries(toInputObject(limits, 'limits')), ['maxEvents', maxEvents] as const])
    readInput(s.positive, given, field.slice(0, 40));
}
