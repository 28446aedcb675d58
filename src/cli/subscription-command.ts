import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, toAccountName } from '../domain/keys.js';
import { type EventType, eventTypes, isEventType } from '../domain/subscription.js';
import { checked } from './order-command.js';

/** What each command about one subscription is given. */
export type SubscriptionArguments = [account: AccountName, eventType: EventType];

/** Adds the arguments `<account> <eventType>`, checked before anything else happens. */
export const withSubscriptionArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as business', checked(toAccountName))
    .argument('<eventType>', eventTypes.join(' or '), checked(toEventType));

function toEventType(text: string): EventType {
  if (!isEventType(text)) throw new InvalidInput(`eventType: must be ${eventTypes.join(' or ')}`);
  return text;
}

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
