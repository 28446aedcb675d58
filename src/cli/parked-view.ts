import type { ParkedDelivery } from '../domain/parked-delivery.js';
import { parkReasonTexts } from '../domain/parked-delivery-details.js';
import type { HandOverOutcome } from '../domain/parked-delivery-input.js';
import type { ParkedDeliveryKey } from '../domain/workflow-ids.js';
import type { Paint } from './paint.js';
import type { OpenedDelivery } from './parked-content.js';
import { clip, plain, toLines, utc } from './plain-text.js';
import { pairsText, tableText } from './table.js';

/** One delivery of the list; the facts are null until a worker has seen it. */
export type ListedDelivery = ParkedDeliveryKey &
  Pick<Partial<ParkedDelivery>, 'eventType' | 'reason' | 'receivedAt' | 'aboutOrderId'>;

/** The list as a table. The id stays whole, since people copy it. */
export function parkedText(deliveries: readonly ListedDelivery[], paint: Paint): string {
  if (deliveries.length === 0) return 'No delivery waits for a person.';
  const rows = deliveries.map(({ account, deliveryId, eventType, reason, receivedAt, aboutOrderId }) => [
    clip(account, 16),
    deliveryId,
    eventType ?? '-',
    reason ?? '-',
    receivedAt === undefined ? '-' : utc(receivedAt),
    aboutOrderId === undefined ? '-' : plain(aboutOrderId),
  ]);
  return tableText(['account', 'delivery', 'event type', 'reason', 'received (UTC)', 'order'], rows, paint);
}

/** One delivery with its content. Safe for a terminal. */
export function openedText(
  key: ParkedDeliveryKey,
  delivery: ParkedDelivery | null,
  opened: OpenedDelivery | null,
  paint: Paint,
): string {
  const facts: [string, string][] = [
    ['why', delivery === null ? 'not known yet' : parkReasonTexts[delivery.reason]],
    ['received', delivery === null ? '-' : `${utc(delivery.receivedAt)} UTC`],
    ['outcome', delivery?.outcome ?? 'waiting'],
    ...(delivery?.aboutOrderId === undefined
      ? []
      : [['order', plain(delivery.aboutOrderId)] satisfies [string, string]]),
    ['body', opened === null ? 'none was kept' : sizeText(opened)],
  ];
  const head = paint('strong', `Delivery ${key.deliveryId} of account ${key.account}`);
  const lines = [head, pairsText(facts, paint)];
  if (opened === null) return lines.join('\n');
  return [...lines, '', opened.body === null ? paint('faint', 'not a text') : toLines(opened.body)].join('\n');
}

const sizeText = ({ bytes, contentType }: OpenedDelivery): string =>
  `${bytes} bytes, ${contentType === null ? 'no content type' : plain(contentType)}`;

const handedOverTexts: Record<HandOverOutcome, (order: string) => string> = {
  signalled: (order) => `order ${order} was told`,
  started: (order) => `order ${order} is followed from now on`,
  late: (order) => `order ${order} has ended, so nothing was left to do`,
  ignored: (order) => `nobody follows order ${order}`,
  followingStopped: (order) => `the following of order ${order} was stopped`,
  endUnreadable: (order) => `how the following of order ${order} ended cannot be read`,
  reported: (order) => `the report of order ${order} was told`,
};

/** What became of a delivery. */
export function decidedText(delivery: ParkedDelivery, handedOver: HandOverOutcome | undefined, paint: Paint): string {
  const { deliveryId, discardReason, orderId, outcome } = delivery;
  const order = plain(orderId ?? '');
  const what = outcome === 'routed' ? `routed to order ${order}` : `discarded: ${plain(discardReason ?? '')}`;
  const detail = handedOver === undefined ? [] : [`  ${handedOverTexts[handedOver](order)}`];
  return [paint('strong', `Delivery ${deliveryId} ${what}`), ...detail].join('\n');
}
