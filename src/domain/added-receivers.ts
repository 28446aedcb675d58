import { toInputFields } from './input-fields.js';
import { type Notify, toNotify } from './notify.js';

/** More than any order needs, so that nobody makes a run tell the whole world. */
const maxReceivers = 50;

/** Those of the signal `receiversAdded` who are not told yet. None when it cannot be read, or when there are too many. */
export function addedReceivers(present: readonly Notify[], signal: unknown): Notify[] {
  const key = (receiver: Notify): string => JSON.stringify(receiver);
  const known = new Set(present.map(key));
  const given = readReceivers(signal).filter((receiver) => !known.has(key(receiver)) && known.add(key(receiver)));
  return present.length + given.length > maxReceivers ? [] : given;
}

function readReceivers(signal: unknown): Notify[] {
  try {
    const { receivers } = toInputFields(signal, ['receivers']);
    return Array.isArray(receivers) ? receivers.flatMap((receiver: unknown) => toNotify([receiver])) : [];
  } catch {
    return []; // a signal has no answer, and a run does not end because of one
  }
}
