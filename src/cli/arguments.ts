import { readFileSync } from 'node:fs';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import { type Notify, toReceiver } from '../domain/notify/receivers.js';
import { type EventType, eventTypes, isEventType } from '../domain/subscription/subscription.js';
import type { FollowOrderKey, SubscriptionKey } from '../domain/workflow-ids.js';

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

/** Adds the argument `<account>`, which the parser of accounts checks before any connection. */
export const withAccount = (command: Command, example = 'business'): Command =>
  command.argument('<account>', `name of the account, such as ${example}`, checked(toAccountName));

/** The arguments of a command about one order. */
export type OrderArguments = [account: AccountName, orderId: OrderId];

/** Adds the arguments `<account> <orderId>`. */
export const withOrderArguments = (command: Command): Command =>
  withAccount(command, 'partner').argument('<orderId>', "the service's id of the order", checked(toOrderId));

/** Reads them. */
export const toOrderKey = ([account, orderId]: OrderArguments): FollowOrderKey => ({ account, orderId });

/** The arguments of a command about one subscription. */
export type SubscriptionArguments = [account: AccountName, eventType: EventType];

/** Adds the arguments `<account> <eventType>`. */
export const withSubscriptionArguments = (command: Command): Command =>
  withAccount(command).addArgument(oneOf('<eventType>', 'what the service reports', eventTypes, toEventType));

/** Reads them. */
export const toSubscriptionKey = ([account, eventType]: SubscriptionArguments): SubscriptionKey => ({
  account,
  eventType,
});

/** An argument with a closed set of words: help and completion show them, and `parse` refuses others. */
export const oneOf = <T>(name: string, what: string, words: readonly string[], parse: (text: string) => T): Argument =>
  new Argument(name, what).choices(words).argParser(checked(parse));

function toEventType(text: string): EventType {
  if (!isEventType(text)) throw new InvalidInput(`eventType: must be ${eventTypes.join(' or ')}`);
  return text;
}

/** Adds `--account`, which narrows a list to one account. */
export const withAccountOption = (command: Command): Command =>
  command.option('--account <name>', 'only of this account', checked(toAccountName, '--account'));

/** Adds `--limit`, how many entries a list shows. */
export const withLimitOption = (command: Command): Command =>
  command.option('--limit <number>', `how many to show, 1 to ${maxLimit}`, checked(toLimit), 50);

const maxLimit = 1_000;

function toLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > maxLimit) {
    throw new InvalidInput(`--limit: must be a whole number from 1 to ${maxLimit}`);
  }
  return limit;
}

/** The flags and the parser of `--order`, for commands that take an order beside something else. */
export const orderOption = ['--order <orderId>', checked(toOrderId, '--order')] as const;

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

/** Adds `--notify`, which may be given several times. */
export const withNotifyOption = (command: Command): Command =>
  command.option(
    '--notify <who>',
    'send each change to a URL, or to workflowId:signal; may be repeated',
    (text: string, before?: Notify[]) => [...(before ?? []), checked(readReceiver)(text)],
  );

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
