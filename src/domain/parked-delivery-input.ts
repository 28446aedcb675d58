import { InvalidInput } from './errors.js';
import { parseStopInput, toInstant } from './follow-input.js';
import type { OrderDeliveryOutcome } from './forward-outcome.js';
import { toInputFields } from './input-fields.js';
import { type OrderId, toAccountName, toOrderId } from './keys.js';
import { type ParkedDelivery, type ParkedDeliveryInput, parkReasons } from './parked-delivery.js';
import { eventTypes } from './subscription.js';

/** What became of a delivery that a person gave to an order, or why it stays parked. */
export type HandOverOutcome = OrderDeliveryOutcome | 'reported';

/** What hands a parked delivery to an order. */
export interface HandOverInput
  extends Pick<ParkedDeliveryInput, 'account' | 'eventType' | 'deliveryId' | 'receivedAt'> {
  orderId: OrderId;
}

/** Answer of the update `routeDelivery`. */
export interface RoutedDelivery extends ParkedDelivery {
  handedOver: HandOverOutcome;
}

/** The field of the run's memo that holds a `ParkedDelivery`. */
export const parkedMemoField = 'parked';

const known = ['account', 'eventType', 'deliveryId', 'receivedAt', 'reason', 'aboutOrderId', 'sealed'] as const;

function toWord<Word extends string>(value: unknown, words: readonly Word[], field: string): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) throw new InvalidInput(`${field}: must be one of ${words.join(', ')}`);
  return found;
}

function toMatching(value: unknown, pattern: RegExp, field: string): string {
  if (typeof value !== 'string' || !pattern.test(value))
    throw new InvalidInput(`${field}: must match ${pattern.source}`);
  return value;
}

/** Reads a delivery id. Throws `InvalidInput`. */
export function toDeliveryId(value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{32}$/.test(value)) {
    throw new InvalidInput('deliveryId: must be 32 hex digits');
  }
  return value;
}

/** Reads the input of `parkedDelivery`. Throws `InvalidInput` that names the field, never its value. */
export function parseParkedDeliveryInput(value: unknown): ParkedDeliveryInput {
  const fields = toInputFields(value, known);
  // A delivery that was checked when it came has left no body behind, only the order that it names.
  const namesOrder = fields.aboutOrderId !== undefined;
  return {
    account: toAccountName(fields.account),
    eventType: toWord(fields.eventType, eventTypes, 'eventType'),
    deliveryId: toDeliveryId(fields.deliveryId),
    receivedAt: toInstant(fields.receivedAt, 'receivedAt'),
    reason: toWord(fields.reason, parkReasons, 'reason'),
    ...(namesOrder ? { aboutOrderId: toOrderId(fields.aboutOrderId, 'aboutOrderId') } : {}),
    sealed: toMatching(fields.sealed, namesOrder ? /^\S*$/ : /^\S+$/, 'sealed'),
  };
}

/** Reads the argument of `routeDelivery`. Throws `InvalidInput`. */
export const parseRouteInput = (value: unknown): { orderId: OrderId } => ({
  orderId: toOrderId(toInputFields(value, ['orderId']).orderId),
});

/** Reads the argument of `discardDelivery`. Throws `InvalidInput`. */
export const parseDiscardInput: (value: unknown) => { reason: string } = parseStopInput;
