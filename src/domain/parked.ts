import { type DeliveryResult, type ParkReason, parkReasons } from './delivery.js';
import { InvalidInput } from './errors.js';
import { toInputFields } from './input-fields.js';
import { toInstant } from './instant.js';
import { type AccountName, type DeliveryId, type OrderId, toAccountName, toOrderId } from './keys.js';
import { cell } from './markdown.js';
import { parseStopInput } from './order/input.js';
import { type EventType, eventTypes } from './subscription/subscription.js';

/** Input of the workflow `parkedDelivery`: all that was kept of a delivery, its content sealed. */
export interface ParkedDeliveryInput {
  account: AccountName;
  eventType: EventType;
  /** 32 hex digits. */
  deliveryId: string;
  /** ISO instant. */
  receivedAt: string;
  reason: ParkReason;
  /** The order that it names; only with the last two reasons. */
  aboutOrderId?: OrderId;
  /** JSON `{ body, headers }`, sealed under the webhook keys with `parkedDeliveryId` as context. Empty where nothing was kept of a
   *  delivery that names its order. */
  sealed: string;
}

/** Answer of the query `parkedStatus`, and the result of the run. */
export interface ParkedDelivery extends Omit<ParkedDeliveryInput, 'sealed'> {
  /** What became of it. */
  outcome: 'waiting' | 'routed' | 'discarded';
  /** The order that it was routed to. */
  orderId: string | null;
  /** Why it was discarded, in the operator's words. */
  discardReason: string | null;
}

/** What hands a parked delivery to an order. */
export interface HandOverInput
  extends Pick<ParkedDeliveryInput, 'account' | 'eventType' | 'deliveryId' | 'receivedAt'> {
  orderId: OrderId;
}

/** Answer of the update `routeDelivery`. */
export interface RoutedDelivery extends ParkedDelivery {
  handedOver: DeliveryResult;
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
export function toDeliveryId(value: unknown): DeliveryId {
  if (typeof value !== 'string' || !/^[0-9a-f]{32}$/.test(value)) {
    throw new InvalidInput('deliveryId: must be 32 hex digits');
  }
  return value as DeliveryId;
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

/** Each reason in words for people. */
export const parkReasonTexts: Record<ParkReason, string> = {
  noOrderId: 'no order id was found in it',
  orderIdUnusable: 'its order id cannot be used',
  otherCompany: 'it names another company',
  otherEventType: 'it names another event type than its address',
  ambiguousBody: 'its body can be read in more than one way',
  wrongSecret: 'its secret is not that of the subscription',
  endedGeneration: 'its address was no longer accepted',
  neverSubscribed: 'nobody has subscribed to it',
  followingStopped: 'the following of its order was stopped',
  endUnreadable: 'how the following of its order ended cannot be read here',
};

/** The delivery as Markdown for the Temporal UI: why it waits and what can be done, or what became of it. */
export function describeParked(delivery: ParkedDelivery): string {
  const { account, aboutOrderId, deliveryId, discardReason, eventType, orderId, outcome, reason, receivedAt } =
    delivery;
  const standing = {
    waiting: `**Waits for a person**: ${parkReasonTexts[reason]}.`,
    routed: `**Routed** to order ${cell(orderId ?? '', 128)}.`,
    discarded: `**Discarded**: ${cell(discardReason ?? '', 200)}`,
  }[outcome];
  const facts = `${eventType} of account ${account}, received at ${cell(receivedAt.slice(0, 19).replace('T', ' '))} UTC.`;
  const commands = [
    aboutOrderId === undefined
      ? `faretrail delivery parked --account ${account} --open ${deliveryId}`
      : `faretrail order follow ${account} ${cell(aboutOrderId, 128)} --again`,
    `faretrail delivery route ${account} ${deliveryId} --order ${cell(aboutOrderId ?? 'ID', 128)}`,
    `faretrail delivery discard ${account} ${deliveryId} --reason R`,
  ];
  const next = outcome === 'waiting' ? [commands.map((command) => `- \`${command}\``).join('\n')] : [];
  return [standing, facts, ...next].join('\n\n');
}
