import { readFileSync } from 'node:fs';
import { Argument, InvalidArgumentError } from 'commander';
import { businessOperations } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { readInput } from '../domain/input-fields.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { type Notify, toReceiver } from '../domain/notify/receivers.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import { wordOf } from '../domain/schema.js';
import { eventTypes } from '../domain/subscription/subscription.js';
import { originRule, toOrigin } from '../domain/web-address.js';

/** Turns a parser of ours into one of commander's: its `InvalidInput`, which names `field`, becomes wrong usage. */
export const checked =
  <T>(parse: (text: string, field?: string) => T, field?: string) =>
  (text: string): T => {
    try {
      return field === undefined ? parse(text) : parse(text, field);
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

/** Narrows a list to one account. */
export const accountOption = ['--account <name>', 'only of this account', checked(toAccountName, '--account')] as const;

/** The order that a command needs beside its arguments. */
export const orderOption = (what: string) => ['--order <orderId>', what, checked(toOrderId, '--order')] as const;

/** Why the caller stops, ends or discards something. */
export const reasonOption = ['--reason <text>', 'why, 1 to 200 characters'] as const;

/** Where the ingress is reached from outside. */
export const publicUrlOption = ['--public-url <url>', 'public https base of the ingress'] as const;

/** How many entries a list shows. */
export const limitOption = [
  '--limit <number>',
  'how many to show, 1 to 1000',
  checked(toNumber, '--limit'),
  50,
] as const;

/** Reads a whole number from 1 to 1000. Throws `InvalidInput` naming `field`. */
export function toNumber(text: string, field = 'number'): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 1_000)
    throw new InvalidInput(`${field}: must be a whole number from 1 to 1000`);
  return number;
}

/** Reads the JSON document of `--input` from a file, or from standard input for "-". Throws `InvalidInput`. */
export function readJsonInput(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8')); // 0 is standard input
  } catch (error) {
    // The message of a syntax error quotes the text, which may hold personal data.
    if (error instanceof SyntaxError)
      throw new InvalidInput(`--input: ${file === '-' ? 'standard input' : file} is not JSON`);
    throw new InvalidInput(`--input: ${file} cannot be read${inBrackets(error)}`);
  }
}

/** The code of an error of the system, such as " (ENOENT)"; "" where it has none. */
export const inBrackets = (error: unknown): string =>
  error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';

/** A receiver of notices; may be given several times. */
export const notifyOption = [
  '--notify <who>',
  'send each change to a URL, or to workflowId:signal; may be repeated',
  (text: string, before?: Notify[]) => [...(before ?? []), checked(readReceiver)(text)],
] as const;

/** The last colon ends the workflow id, which may hold colons itself. */
function readReceiver(text: string): Notify {
  const isUrl = /^[a-z]+:\/\//i.test(text);
  const [, workflowId, signal] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (!isUrl && !signal) throw new InvalidInput('--notify: must be a URL, or workflowId:signal');
  return toReceiver(isUrl ? { url: text } : { workflowId, signal }, '--notify');
}

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `90s`, `30m`, `24h`, `2d` or `0`. Throws `InvalidInput` naming `field`. */
export function toDurationMs(text: string, field = 'duration'): number {
  const [, number = '', unit] = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text) ?? [];
  const perUnit = unit === undefined ? 1 : unitMs[unit];
  if (number === '' || perUnit === undefined || (unit === undefined && Number(number) !== 0)) {
    throw new InvalidInput(`${field}: must be a duration such as 90s, 30m, 24h or 2d, or 0`);
  }
  return Number(number) * perUnit;
}
