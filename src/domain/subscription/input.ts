import { InvalidInput } from '../errors.js';
import { toInputFields } from '../input-fields.js';
import { type AccountName, toAccountName } from '../keys.js';
import { toWebAddress, webAddressRule } from '../web-address.js';
import { type EventType, eventTypes, isEventType } from './subscription.js';

/** When deliveries count as silent; see `judgeSilence`. */
export interface SilenceWatch {
  /** How often it is looked for; the window that is looked at is 24 times as long. Default an hour. */
  everyMs: number;
  /** Orders that must have ended without a delivery before it is said. Default 5. */
  minOrders: number;
}

/** What `subscription` is started with. */
export interface SubscriptionInput {
  account: AccountName;
  eventType: EventType;
  /** The public base of the ingress: https, or http at a loopback address; without a trailing slash. */
  publicUrl: string;
  /** Subscribe anew, at most once a day, while deliveries are silent? */
  resubscribe?: boolean;
  /** How long an address is still accepted once another has replaced it. Default a day. */
  graceMs?: number;
  silence?: Partial<SilenceWatch>;
}

/** How long an old address is accepted unless somebody says otherwise: longer than any sender repeats a delivery. */
export const defaultGraceMs = 86_400_000;
const maxGraceMs = 30 * 86_400_000;
/** The watch in force where the input says nothing. */
export const defaultSilenceWatch: SilenceWatch = { everyMs: 3_600_000, minOrders: 5 };
const maxUrlLength = 500;
const maxReasonLength = 200;

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function toInteger(value: unknown, field: string, { min, max }: { min: number; max: number }): number {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    throw new InvalidInput(`${field}: must be a whole number from ${min} to ${max}`);
  }
  return value as number;
}

const toGraceMs = (value: unknown): number => toInteger(value, 'graceMs', { min: 0, max: maxGraceMs });

/** Reads the public base of the ingress and takes a trailing slash away. Throws `InvalidInput` naming the field. */
export function toPublicUrl(value: unknown): string {
  const address = typeof value === 'string' && value.length <= maxUrlLength ? toWebAddress(value) : undefined;
  if (address === undefined) throw new InvalidInput(`publicUrl: ${webAddressRule}`);
  return address;
}

function toEventType(value: unknown): EventType {
  if (typeof value !== 'string' || !isEventType(value)) {
    throw new InvalidInput(`eventType: must be one of ${eventTypes.join(', ')}`);
  }
  return value;
}

function toSilence(value: unknown): Partial<SilenceWatch> {
  const { everyMs, minOrders } = toInputFields(value, ['everyMs', 'minOrders']);
  return {
    ...(isGiven(everyMs) ? { everyMs: toInteger(everyMs, 'silence.everyMs', { min: 100, max: 86_400_000 }) } : {}),
    ...(isGiven(minOrders) ? { minOrders: toInteger(minOrders, 'silence.minOrders', { min: 1, max: 100_000 }) } : {}),
  };
}

function toFlag(value: unknown, field: string): boolean {
  if (typeof value !== 'boolean') throw new InvalidInput(`${field}: must be true or false`);
  return value;
}

/** Reads the input of `subscription`, which any language may send. Throws `InvalidInput` that names the field. */
export function parseSubscriptionInput(value: unknown): SubscriptionInput {
  const known = ['account', 'eventType', 'publicUrl', 'resubscribe', 'graceMs', 'silence'];
  const { account, eventType, publicUrl, resubscribe, graceMs, silence } = toInputFields(value, known);
  return {
    account: toAccountName(account),
    eventType: toEventType(eventType),
    publicUrl: toPublicUrl(publicUrl),
    ...(isGiven(resubscribe) ? { resubscribe: toFlag(resubscribe, 'resubscribe') } : {}),
    ...(isGiven(graceMs) ? { graceMs: toGraceMs(graceMs) } : {}),
    ...(isGiven(silence) ? { silence: toSilence(silence) } : {}),
  };
}

/** Reads the argument of `rotateSubscription`, which may be left out. Throws `InvalidInput`. */
export function parseRotateInput(value: unknown): { graceMs?: number } {
  const { graceMs } = toInputFields(value ?? {}, ['graceMs']);
  return isGiven(graceMs) ? { graceMs: toGraceMs(graceMs) } : {};
}

/** Reads the argument of `moveSubscription`. Throws `InvalidInput`. */
export function parseMoveInput(value: unknown): { publicUrl: string; graceMs?: number } {
  const { publicUrl, graceMs } = toInputFields(value, ['publicUrl', 'graceMs']);
  return { publicUrl: toPublicUrl(publicUrl), ...(isGiven(graceMs) ? { graceMs: toGraceMs(graceMs) } : {}) };
}

/** Reads the argument of `endSubscription`. Throws `InvalidInput`. */
export function parseEndInput(value: unknown): { reason: string } {
  const { reason } = toInputFields(value, ['reason']);
  if (typeof reason !== 'string' || reason.trim() === '' || reason.length > maxReasonLength) {
    throw new InvalidInput(`reason: must be a text of 1 to ${maxReasonLength} characters`);
  }
  return { reason };
}
