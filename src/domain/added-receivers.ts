import { hostOf, isUrlReceiver, type Notify } from './notify.js';

/** More than any order needs, so that nobody makes a run tell the whole world. */
const maxReceivers = 50;

/** Receivers that a run was asked to tell besides those it tells already: as many as there is room for, and the rest. */
export interface AddedReceivers {
  added: Notify[];
  leftOut: Notify[];
}

/** One that is told already, or named twice, is added once. */
export function addedReceivers(present: readonly Notify[], more: readonly Notify[]): AddedReceivers {
  const known = new Set(present.map(keyOf));
  const newcomers = more.filter((receiver) => !known.has(keyOf(receiver)) && known.add(keyOf(receiver)));
  const room = Math.max(0, maxReceivers - present.length);
  return { added: newcomers.slice(0, room), leftOut: newcomers.slice(room) };
}

const keyOf = (receiver: Notify): string =>
  JSON.stringify(isUrlReceiver(receiver) ? [receiver.url] : [receiver.workflowId, receiver.signal]);

/** As many lines as the details of a run show. */
const maxLines = 20;

/** The lines, for the UI, about receivers that found no room, with these. */
export const withLeftOut = (lines: readonly string[], receivers: readonly Notify[]): string[] =>
  [...new Set([...lines, ...receivers.map(toLine)])].slice(0, maxLines);

const toLine = (receiver: Notify): string => {
  const name = isUrlReceiver(receiver) ? hostOf(receiver.url) : `${receiver.workflowId} by signal ${receiver.signal}`;
  return `${name.slice(0, 50)}: more than ${maxReceivers} receivers`;
};
