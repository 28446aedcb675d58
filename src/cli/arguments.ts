import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import { type Notify, toReceiver } from '../domain/notify/receivers.js';
import { type EventType, eventTypes, isEventType } from '../domain/subscription/subscription.js';

/** What each command about one order is given. */
export type OrderArguments = [account: AccountName, orderId: OrderId];

/** Adds the arguments `<account> <orderId>`, checked before anything else happens. */
export const withOrderArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as partner', checked(toAccountName))
    .argument('<orderId>', "the service's id of the order", checked(toOrderId));

/** Makes one of our parsers one of commander's: its `InvalidInput` becomes wrong usage. */
export const checked =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof InvalidInput) throw new InvalidArgumentError(`${error.message}.`);
      throw error;
    }
  };

export const standardInput = 0;

/** Reads a JSON document from a file, or from standard input for "-". Throws `InvalidInput` that names the option. */
export function readJsonInput(file: string): unknown {
  const text = textOf(file);
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidInput(`--input: ${file === '-' ? 'standard input' : file} is not JSON`); // its own words quote the text
  }
}

export function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? standardInput : file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new InvalidInput(`--input: ${file} cannot be read${code}`);
  }
}

/** Adds `--notify`, which may be given several times. */
export const withNotifyOption = (command: Command): Command =>
  command.option(
    '--notify <who>',
    'who is told of each change: a URL, or workflowId:signal; may be repeated',
    (text: string, before?: Notify[]) => [...(before ?? []), checked(readReceiver)(text)],
  );

/** A workflow id may hold colons; the name of a signal is taken to hold none. */
export function readReceiver(text: string): Notify {
  const isUrl = /^[a-z]+:\/\//i.test(text);
  const [, workflowId, signal] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (!isUrl && !signal) throw new InvalidInput('--notify: must be a URL, or workflowId:signal');
  return toReceiver(isUrl ? { url: text } : { workflowId, signal }, '--notify');
}

/** What each command about one subscription is given. */
export type SubscriptionArguments = [account: AccountName, eventType: EventType];

/** Adds the arguments `<account> <eventType>`, checked before anything else happens. */
export const withSubscriptionArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as business', checked(toAccountName))
    .argument('<eventType>', eventTypes.join(' or '), checked(toEventType));

export function toEventType(text: string): EventType {
  if (!isEventType(text)) throw new InvalidInput(`eventType: must be ${eventTypes.join(' or ')}`);
  return text;
}

export const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `90s`, `30m`, `24h`, `2d` or `0`. Throws `InvalidInput` naming `field`. */
export function toDurationMs(text: string, field: string): number {
  const [, number = '', unit] = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text) ?? [];
  const perUnit = unit === undefined ? 1 : unitMs[unit];
  if (number === '' || perUnit === undefined || (unit === undefined && Number(number) !== 0)) {
    throw new InvalidInput(`${field}: must be a duration such as 90s, 30m, 24h or 2d, or 0`);
  }
  return Number(number) * perUnit;
}
