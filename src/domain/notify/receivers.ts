import { readInput } from '../input-fields.js';
import * as s from '../schema.js';
import { maxReceiverUrl, receiverUrlRule, toReceiverUrl } from '../web-address.js';

const SignalReceiverSchema = s.inputOf({ workflowId: s.nameText, signal: s.nameText });
/** A workflow of the same namespace, told by signal. */
export type SignalReceiver = s.Read<typeof SignalReceiverSchema>;

/** A web address that a caller wants to be told at, in the one spelling that `URL` gives it. */
export const ReceiverUrlSchema = s.webAddress(maxReceiverUrl, toReceiverUrl, receiverUrlRule);

const UrlReceiverSchema = s.inputOf({ url: ReceiverUrlSchema });
/** A web address, told by a signed POST. It stands in Temporal in clear: it holds no secret. */
export type UrlReceiver = s.Read<typeof UrlReceiverSchema>;

/** Who is told of each change and of the end: a workflow by signal, or a web address. */
export const NotifySchema = s.described(
  s.oneOf([SignalReceiverSchema, UrlReceiverSchema], (set) => {
    if (!set.includes('url')) return 0;
    return set.length === 1 ? 1 : 'must have either url, or workflowId and signal';
  }),
  'Who is told of each change and of the end.',
);
/** Who is told of each change and of the end. */
export type Notify = s.Read<typeof NotifySchema>;

/** The field `notify` of an input. */
export const NotifyListSchema = s.listOf(NotifySchema, 10);

/** A URL, and which entry it is among all receivers of a run. */
export interface UrlEntry extends UrlReceiver {
  entry: number;
}

/** Is it told by a POST? */
export const isUrlReceiver = (receiver: Notify): receiver is UrlReceiver => 'url' in receiver;

/** Those that are told by a POST. */
export const urlEntries = (receivers: readonly Notify[]): UrlEntry[] =>
  receivers.flatMap((receiver, entry) => (isUrlReceiver(receiver) ? [{ url: receiver.url, entry }] : []));

/** What may be shown of a URL: the rest may be a secret of its owner. */
export const hostOf = (url: string): string => new URL(url).host.slice(0, 100);

/** Reads one receiver. Throws `InvalidInput` naming it as `name`. */
export const toReceiver = (entry: unknown, name: string): Notify => readInput(NotifySchema, entry, name);
