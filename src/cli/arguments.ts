import { Argument, InvalidArgumentError, Option } from 'commander';
import { businessOperations } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { readInput } from '../domain/input-fields.js';
import { readJson, UnreadableJson } from '../domain/json.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { type Notify, toReceiver } from '../domain/notify/receivers.js';
import { toRideStatus } from '../domain/order/status.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import { wordOf } from '../domain/schema.js';
import { eventTypes, parseEndInput } from '../domain/subscription/subscription.js';
import { originRule, toOrigin } from '../domain/web-address.js';
import { readTextFile } from '../settings/text-file.js';

/** Turns a parser of ours into one of commander's: its `InvalidInput`, which names the field, becomes wrong usage. */
const checked =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof InvalidInput) throw new InvalidArgumentError(`${error.message}.`);
      throw error;
    }
  };

function toKnownOrigin(text: string): string {
  const origin = toOrigin(text);
  if (origin === undefined) throw new InvalidInput(`origin: ${originRule}`);
  return origin;
}

/** The arguments of commands by name: their help, and the parser that checks them before any connection or the closed set of
 *  their words. */
const known: Readonly<Record<string, [what: string, read: ((text: string) => unknown) | readonly string[]]>> = {
  account: ['name of the account, such as business', toAccountName],
  orderId: ["the service's id of the order", toOrderId],
  requestId: ['your identity of the ride', toRideRequestId],
  deliveryId: ['its 32 hex digits, from the list', toDeliveryId],
  eventType: ['what the service reports', eventTypes],
  operation: ['what to do', businessOperations],
  file: ['orders as CSV or JSON lines; - for standard input', (text) => text],
  noticeId: ['its id, from the list', (text) => text],
  origin: ['where the URLs of a receiver begin', toKnownOrigin],
};

/** The argument of a form such as `<account>`, or `[orderId]` for one that may be left out. Help shows the words of a closed
 *  set. Throws for a name that is not in the table above. */
export function knownArgument(form: string): Argument {
  const name = form.slice(1, -1);
  const [what, read] = known[name] ?? [];
  if (read === undefined) throw new Error(`no such argument: ${name}`);
  const argument = new Argument(form, what);
  if (typeof read === 'function') return argument.argParser(checked(read));
  return argument.choices(read).argParser(checked((text) => readInput(wordOf(read), text, name)));
}

/** An option of a command. `read` checks its text before any connection; its `InvalidInput` becomes wrong usage. */
export function option(flags: string, what: string, read?: (text: string, field: string) => unknown): Option {
  const made = new Option(flags, what);
  return read ? made.argParser(checked((text) => read(text, `--${made.name()}`))) : made;
}

/** Reads a text that `isFit` takes. Throws `InvalidInput` that names the field and the rule. */
export const textThat = (isFit: (text: string) => boolean, rule: string) => (text: string, field: string) => {
  if (isFit(text)) return text;
  throw new InvalidInput(`${field}: must be ${rule}`);
};

/** An option that the command needs. */
export const required = (made: Option): Option => made.makeOptionMandatory();

/** Narrows a list to one account. */
export const accountOption = (what = 'only of this account') => option('--account <name>', what, toAccountName);

/** The order that a command needs beside its arguments. */
export const orderOption = (what: string) => option('--order <orderId>', what, toOrderId);

/** Why the caller stops, ends or discards something. */
export const reasonOption = () =>
  option('--reason <text>', 'why, 1 to 200 characters', (reason) => parseEndInput({ reason }).reason);

/** The JSON document of a command. */
export const inputOption = (what: string, flags = '--input <file>') =>
  option(flags, `${what}; - for standard input`, readJsonInput);

/** How many entries a list shows. */
export const limitOption = () => option('--limit <number>', 'how many to show, 1 to 1000', toNumber).default(50);

/** Receivers of notices; may be given several times. */
export const notifyOption = () =>
  new Option('--notify <who>', 'send each change to a URL, or to workflowId:signal; may be repeated').argParser(
    (text, before: Notify[] = []) => [...before, checked(toNotify)(text)],
  );

/** The last colon ends the workflow id, which may hold colons itself. */
function toNotify(text: string): Notify {
  const isUrl = /^[a-z]+:\/\//i.test(text);
  const [, workflowId, signal] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (!isUrl && !signal) throw new InvalidInput('--notify: must be a URL, or workflowId:signal');
  return toReceiver(isUrl ? { url: text } : { workflowId, signal }, '--notify');
}

/** Reads a whole number from 1 to 1000. Throws `InvalidInput` naming `field`. */
export function toNumber(text: string, field: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 1_000)
    throw new InvalidInput(`${field}: must be a whole number from 1 to 1000`);
  return number;
}

/** Reads a JSON document from a file, or from standard input for "-". Throws `InvalidInput` naming `field`. */
function readJsonInput(file: string, field: string): unknown {
  try {
    return readJson(readTextFile(file === '-' ? 0 : file));
  } catch (error) {
    const place = `${field}: ${file === '-' ? 'standard input' : file}`;
    if (error instanceof InvalidInput) throw new InvalidInput(`${place}: ${error.message}`);
    const why = error instanceof UnreadableJson ? `is ${error.message}` : `cannot be read${inBrackets(error)}`;
    throw new InvalidInput(`${place} ${why}`);
  }
}

/** The code of an error of the system, such as " (ENOENT)"; "" where it has none. */
export const inBrackets = (error: unknown): string =>
  error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `90s`, `30m`, `24h`, `2d` or `0`. Throws `InvalidInput` naming `field`. */
export function toDurationMs(text: string, field: string): number {
  const [, number = '', unit] = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text) ?? [];
  const perUnit = unit === undefined ? 1 : unitMs[unit];
  if (number === '' || perUnit === undefined || (unit === undefined && Number(number) !== 0)) {
    throw new InvalidInput(`${field}: must be a duration such as 90s, 30m, 24h or 2d, or 0`);
  }
  return Number(number) * perUnit;
}

const isSearchable = (text: string): boolean => /^[^"\\\p{C}]{1,200}$/u.test(text);
const searchRule = '1 to 200 characters without control characters, a backslash or a ", which no server over SQL finds';

/** Reads a status to search for: any word, since the service may send new ones. Throws `InvalidInput`, also for what a server over SQL never
 *  finds however it is escaped (measured on 1.31). */
export const toStatusFilter = (text: string, field: string): string =>
  toRideStatus(textThat(isSearchable, searchRule)(text, field));
