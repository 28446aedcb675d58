import { type DeliveryResult, type ParkReason, parkReasons, parkReasonTexts } from './delivery.js';
import { InvalidInput } from './errors.js';
import { parserOf, readInput } from './input-fields.js';
import { InstantSchema } from './instant.js';
import { type AccountName, AccountNameSchema, type DeliveryId, type OrderId, OrderIdSchema } from './keys.js';
import { cell, second } from './markdown.js';
import * as s from './schema.js';
import { type EventType, eventTypes } from './subscription/subscription.js';

/** Our own id of a delivery. */
export const DeliveryIdSchema = s.matching(/^[0-9a-f]{32}$/, 'must be 32 hex digits');

const ParkedDeliveryInputSchema = s.inputOf({
  account: AccountNameSchema,
  eventType: s.wordOf(eventTypes),
  deliveryId: DeliveryIdSchema,
  receivedAt: InstantSchema,
  eventTime: s.optional(InstantSchema),
  reason: s.wordOf(parkReasons),
  // The order that it names; only with the last two reasons.
  aboutOrderId: s.optional(OrderIdSchema),
  // JSON `{ body, headers }`, sealed under the webhook keys with `parkedDeliveryId` as context; empty with `aboutOrderId`.
  sealed: s.matching(/^\S*$/, 'must be a text without blanks'),
});
/** The input of `parkedDelivery`: a delivery with its content sealed. */
export type ParkedDeliveryInput = s.Read<typeof ParkedDeliveryInputSchema>;

/** A parked delivery: the answer of the query `parkedStatus`, and the result of the run. */
export const ParkedDeliverySchema = s.answerOf({
  account: s.answered<AccountName>(),
  eventType: s.answered<EventType>(),
  deliveryId: s.answered('32 hex digits.'),
  receivedAt: s.answered(),
  eventTime: s.absentOr(s.answered(), "When it happened, by the service's clock."),
  reason: s.answered<ParkReason>('Why it could not be placed.'),
  aboutOrderId: s.absentOr(
    s.answered<OrderId>(),
    'The order that it names, where following ended in a way that a person decides about.',
  ),
  outcome: s.wordOf(['waiting', 'routed', 'discarded', 'expired']),
  orderId: s.nullable(s.answered(), 'The order that it was routed to.'),
  // In the operator's words.
  discardReason: s.nullable(s.answered()),
});
/** A parked delivery, and what became of it. */
export type ParkedDelivery = s.Read<typeof ParkedDeliverySchema>;

/** Answer of the update `routeDelivery`. */
export const RoutedDeliverySchema = s.answerOf({
  ...ParkedDeliverySchema.fields,
  handedOver: s.answered<DeliveryResult>('What became of it: signalled, started, late or reported.'),
});
/** A parked delivery with the result of giving it to its order. */
export type RoutedDelivery = s.Read<typeof RoutedDeliverySchema>;

/** A parked delivery for an order. */
export interface HandOverInput
  extends Pick<ParkedDeliveryInput, 'account' | 'eventType' | 'deliveryId' | 'receivedAt' | 'eventTime'> {
  orderId: OrderId;
}

/** The field of the run's memo that holds a `ParkedDelivery`. */
export const parkedMemoField = 'parked';

/** Reads a delivery id. Throws `InvalidInput`. */
export const toDeliveryId = (value: unknown): DeliveryId =>
  readInput(DeliveryIdSchema, value, 'deliveryId') as DeliveryId;

/** Reads the input of `parkedDelivery`. Throws `InvalidInput` that names the field, never its value. */
export function parseParkedDeliveryInput(value: unknown): ParkedDeliveryInput {
  const input = readInput(ParkedDeliveryInputSchema, value);
  // The ingress drops the body only of a delivery that it has checked and that names its order.
  if (input.aboutOrderId === undefined && input.sealed === '')
    throw new InvalidInput('sealed: must not be empty, since the delivery names no order');
  return input;
}

/** Argument of the update `routeDelivery`. */
export const RouteInputSchema = s.inputOf({ orderId: OrderIdSchema });

/** Reads the argument of `routeDelivery`. Throws `InvalidInput`. */
export const parseRouteInput = parserOf(RouteInputSchema);

/** The delivery as Markdown for the Temporal UI: why it waits and what can be done, or what became of it. */
export function describeParked(delivery: ParkedDelivery): string {
  const { account, aboutOrderId, deliveryId, discardReason, eventType, orderId, outcome, reason, receivedAt } =
    delivery;
  const standing = {
    waiting: `**Waits for a person**: ${parkReasonTexts[reason]}.`,
    routed: `**Routed** to order ${cell(orderId ?? '', 128)}.`,
    discarded: `**Discarded**: ${cell(discardReason ?? '', 200)}`,
    expired: '**Expired**: it waited for 30 days without a decision.',
  }[outcome];
  const facts = `${eventType} of account ${account}, received at ${second(receivedAt)} UTC.`;
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
