import { InvalidInput } from '../errors.js';
import { toInputFields, toInputName } from '../input-fields.js';
import { receiverUrlRule, toReceiverUrl } from '../web-address.js';

/** A workflow of the same namespace, told by signal. */
export interface SignalReceiver {
  workflowId: string;
  signal: string;
}

/** A web address, told by a signed POST. It stands in Temporal in clear: it holds no secret. */
export interface UrlReceiver {
  url: string;
}

/** A URL, and which entry it is among all receivers of a run. */
export interface UrlEntry extends UrlReceiver {
  entry: number;
}

/** Who is told of each change and of the end. */
export type Notify = SignalReceiver | UrlReceiver;

const maxNotify = 10;

/** Is it told by a POST? */
export const isUrlReceiver = (receiver: Notify): receiver is UrlReceiver => 'url' in receiver;

/** Those that are told by a POST. */
export const urlEntries = (receivers: readonly Notify[]): UrlEntry[] =>
  receivers.flatMap((receiver, entry) => (isUrlReceiver(receiver) ? [{ url: receiver.url, entry }] : []));

/** What may be shown of a URL: the rest may be a secret of its owner. */
export const hostOf = (url: string): string => new URL(url).host.slice(0, 100);

/** Reads the field `notify` of an input. Throws `InvalidInput` naming the entry. */
export function toNotify(value: unknown): Notify[] {
  if (!Array.isArray(value) || value.length > maxNotify) {
    throw new InvalidInput(`notify: must be a list of at most ${maxNotify} entries`);
  }
  return value.map((entry: unknown, index) => toReceiver(entry, `notify[${index}]`));
}

/** Reads one receiver. Throws `InvalidInput` naming it as `name`. */
export function toReceiver(entry: unknown, name: string): Notify {
  const { workflowId, signal, url } = toInputFields(entry, ['workflowId', 'signal', 'url'], name);
  // JSON made by other languages often says null for a field that is not set.
  if (url === undefined || url === null) {
    return {
      workflowId: toInputName(workflowId, `${name}.workflowId`),
      signal: toInputName(signal, `${name}.signal`),
    };
  }
  if ((workflowId ?? signal ?? null) !== null) {
    throw new InvalidInput(`${name}: must have either url, or workflowId and signal`);
  }
  const address = typeof url === 'string' ? toReceiverUrl(url) : undefined;
  if (address === undefined) throw new InvalidInput(`${name}.url: ${receiverUrlRule}`);
  return { url: address };
}
