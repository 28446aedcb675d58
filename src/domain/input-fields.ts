import { InvalidInput } from './errors.js';
import { maxJsonDepth, measureJson } from './json.js';
import * as s from './schema.js';

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

/** Reads an input, or the part of one that is called `name`. Throws `InvalidInput` that names the field. */
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

/** Reads an input object of whatever fields. Throws `InvalidInput`. */
export const toInputObject = (value: unknown, name?: string): Record<string, unknown> =>
  readInput(s.anyObject(), value, name);

/** A body of others that must be no deeper than what a reader of JSON takes. */
export const shallow = <Out, In>(schema: s.Schema<Out, In>): s.Schema<Out, In> =>
  s.checked(
    schema,
    (body) => body === undefined || measureJson(JSON.stringify(body)).depth <= maxJsonDepth,
    `nested deeper than ${maxJsonDepth} levels`,
  );

const nothing = s.inputOf({});

/** Reads the argument of a message that takes none: nothing, or an empty object. Throws `InvalidInput`. */
export const parseNoInput = (value: unknown): void => void readInput(nothing, value ?? {});

/** What may stand in the second argument of a run that somebody starts; the rest only a run hands to the run that continues it. */
const progressOfStarters = s.inputOf({
  limits: s.absentOr(s.anything),
  maxEvents: s.optional(s.anything),
  continues: s.absentOr(s.anything),
});

/**
 * Checks the second argument of a run, which any program may send. One that our own run has handed on is taken as it is: such a run
 * `isContinued`. Throws `InvalidInput` that names the field.
 */
export function checkProgress(value: unknown, isContinued: boolean): void {
  if (isContinued || value === undefined || value === null) return;
  const { limits = {}, maxEvents = 1, continues } = readInput(progressOfStarters, value, 'progress');
  for (const [field, given] of [...Object.entries(toInputObject(limits, 'limits')), ['maxEvents', maxEvents] as const])
    readInput(s.positive, given, field.slice(0, 40));
  if (continues !== undefined) readInput(s.text(), continues, 'continues');
}
