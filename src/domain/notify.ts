import { InvalidInput } from './errors.js';
import { toInputFields, toInputText } from './input-fields.js';

/** Who is told of each change and of the end: a workflow, by signal. */
export interface Notify {
  workflowId: string;
  signal: string;
}

const maxNotify = 10;

/** Reads the field `notify` of an input. Throws `InvalidInput` naming the entry. */
export function toNotify(value: unknown): Notify[] {
  if (!Array.isArray(value) || value.length > maxNotify) {
    throw new InvalidInput(`notify: must be a list of at most ${maxNotify} entries`);
  }
  return value.map((entry: unknown, index) => {
    const name = `notify[${index}]`;
    const fields = toInputFields(entry, ['workflowId', 'signal', 'url'], name);
    if (fields.url !== undefined && fields.url !== null)
      throw new InvalidInput(`${name}.url: not available yet; give workflowId and signal`);
    return {
      workflowId: toInputText(fields.workflowId, `${name}.workflowId`),
      signal: toInputText(fields.signal, `${name}.signal`),
    };
  });
}
