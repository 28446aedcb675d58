import { readInput } from '../input-fields.js';
import * as s from '../schema.js';
import { maxReceiverUrl, receiverUrlRule, toReceiverUrl } from '../web-address.js';

const SignalReceiverSchema = s.inputOf({ workflowId: s.nameText, signal: s.nameText });
/** A workflow of the same namespace that gets a signal. */
export type SignalReceiver = s.Read<typeof SignalReceiverSchema>;

/** The address of a URL receiver, as `URL` spells it. */
const ReceiverUrlSchema = s.webAddress(maxReceiverUrl, toReceiverUrl, receiverUrlRule);

const UrlReceiverSchema = s.inputOf({ url: ReceiverUrlSchema });
/** A web address that gets a signed POST. It must hold no secret, since Temporal keeps it in clear. */
type UrlReceiver = s.Read<typeof UrlReceiverSchema>;

/** A receiver of each change and of the end: a workflow or a web address. */
export const NotifySchema = s.described(
  s.oneOf([SignalReceiverSchema, UrlReceiverSchema], (set) => {
    if (!set.includes('url')) return 0;
    return set.length === 1 ? 1 : 'must have either url, or workflowId and signal';
  }),
  'Who is told of each change and of the end.',
);
/** A receiver of each change and of the end. */
export type Notify = s.Read<typeof NotifySchema>;

/** The field `notify` of an input. */
export const NotifyListSchema = s.listOf(NotifySchema, 10);

/** Stands for the store, in which each change becomes a row. */
export const store = 'store';

/** A URL, or the store. */
export const UrlOrStoreSchema: s.Schema<string> = {
  ...ReceiverUrlSchema,
  read: (value, at) => (value === store ? store : ReceiverUrlSchema.read(value, at)),
};

/** Is the receiver a web address? */
export const isUrlReceiver = (receiver: Notify): receiver is UrlReceiver => 'url' in receiver;

/** What may be shown of a URL or the store. */
export const shownUrl = (to: string): string => (to === store ? 'the store' : hostOf(to));

/** The part of a URL that we may show: the rest may be a secret of its owner. */
const hostOf = (url: string): string => new URL(url).host.slice(0, 100);

/** Reads one receiver. Throws `InvalidInput` naming it as `name`. */
export const toReceiver = (entry: unknown, name: string): Notify => readInput(NotifySchema, entry, name);
