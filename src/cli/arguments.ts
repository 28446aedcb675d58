import { readFileSync } from 'node:fs';
import { Argument, InvalidArgumentError } from 'commander';
import { businessOperations, toBusinessOperation } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { type Notify, toReceiver } from '../domain/notify/receivers.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import { type EventType, eventTypes, isEventType } from '../domain/subscription/subscription.js';

/** Makes one of our parsers one of commander's: its `InvalidInput` becomes wrong usage. `field` is named in the message. */
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

/** The arguments of commands by name: what help says of them, the parser that checks them before any connection, and the
 *  words that fit where the set is closed. */
const known: Readonly<Record<string, [what: string, parse: (text: string) => unknown, words?: readonly string[]]>> = {
  account: ['name of the account, such as business', toAccountName],
  orderId: ["the service's id of the order", toOrderId],
  requestId: ['your identity of the ride', toRideRequestId],
  deliveryId: ['its 32 hex digits, from the list', toDeliveryId],
  eventType: ['what the service reports', toEventType, eventTypes],
  operation: ['what to do', toBusinessOperation, businessOperations],
};

/** The argument of this name. Throws for one that is not in the table above. */
export function knownArgument(name: string): Argument {
  const [what, parse, words] = known[name] ?? [];
  if (what === undefined || parse === undefined) throw new Error(`no such argument: ${name}`);
  return words ? oneOf(name, what, words, parse) : new Argument(`<${name}>`, what).argParser(checked(parse));
}

/** An argument with a closed set of words: help and completion show them, and `parse` refuses others. */
export const oneOf = (
  name: string,
  what: string,
  words: readonly string[],
  parse: (text: string) => unknown,
): Argument => new Argument(`<${name}>`, what).choices(words).argParser(checked(parse));

function toEventType(text: string): EventType {
  if (!isEventType(text)) throw new InvalidInput(`eventType: must be ${eventTypes.join(' or ')}`);
  return text;
}

/** Narrows a list to one account. */
export const accountOption = ['--account <name>', 'only of this account', checked(toAccountName, '--account')] as const;

/** An order beside what a command is about. */
export const orderOption = (what: string) => ['--order <orderId>', what, checked(toOrderId, '--order')] as const;

/** Why a person ends something. */
export const reasonOption = ['--reason <text>', 'why, 1 to 200 characters'] as const;

/** Where the ingress is reached from outside. */
export const publicUrlOption = ['--public-url <url>', 'public https base of the ingress'] as const;

const maxLimit = 1_000;

/** How many entries a list shows. */
export const limitOption = ['--limit <number>', `how many to show, 1 to ${maxLimit}`, checked(toLimit), 50] as const;

function toLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > maxLimit) {
    throw new InvalidInput(`--limit: must be a whole number from 1 to ${maxLimit}`);
  }
  return limit;
}

/** Reads a JSON document from a file, or from standard input for "-". Throws `InvalidInput` that names the option. */
export function readJsonInput(file: string): unknown {
  const text = textOf(file);
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidInput(`--input: ${file === '-' ? 'standard input' : file} is not JSON`); // its own words quote the text
  }
}

const standardInput = 0;

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? standardInput : file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new InvalidInput(`--input: ${file} cannot be read${code}`);
  }
}

/** A receiver of notices; may be given several times. */
export const notifyOption = [
  '--notify <who>',
  'send each change to a URL, or to workflowId:signal; may be repeated',
  (text: string, before?: Notify[]) => [...(before ?? []), checked(readReceiver)(text)],
] as const;

/** A workflow id may hold colons; the name of a signal is taken to hold none. */
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
