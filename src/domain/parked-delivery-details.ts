import type { ParkedDelivery, ParkReason } from './parked-delivery.js';
import { cell } from './trail-details.js';

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
      ? `faretrail parked --account ${account} --open ${deliveryId}`
      : `faretrail track ${account} ${cell(aboutOrderId, 128)} --again`,
    `faretrail route ${account} ${deliveryId} --order ${cell(aboutOrderId ?? 'ID', 128)}`,
    `faretrail discard ${account} ${deliveryId} --reason R`,
  ];
  const next = outcome === 'waiting' ? [commands.map((command) => `- \`${command}\``).join('\n')] : [];
  return [standing, facts, ...next].join('\n\n');
}
