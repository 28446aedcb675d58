import type { ParkedDelivery as DecidedDelivery } from '../../client/index.js';
import type { DeliveryResult } from '../../domain/delivery.js';
import { type ParkedDelivery, parkReasonTexts } from '../../domain/parked.js';
import { publishedAddresses } from '../../domain/published.js';
import { type ParkedDeliveryKey, type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import type { KeyRing } from '../../sealing/key-ring.js';
import { createSealer, type Sealer } from '../../sealing/sealer.js';
import { runOf } from '../../temporal/runs.js';
import { openContent } from '../../webhooks/sealed-content.js';
import { callTimeoutMs, type Session } from '../command.js';
import { clip, type Paint, pairsText, plain, tableText, toLines, utc } from '../text.js';
import { readParkedInput } from './run.js';

/** A parked delivery as a person may see it: without secrets. */
interface OpenedDelivery {
  contentType: string | null;
  /** Null when the body is no text. */
  body: string | null;
  bytes: number;
}

/** Opens what was sealed; null where nothing was kept. Throws `SealingError` when these are not the keys of the ingress. */
export async function openParked(
  session: Session,
  key: ParkedDeliveryKey,
  keys: KeyRing,
): Promise<OpenedDelivery | null> {
  const { sealed, eventType } = await readParkedInput(session, key);
  if (sealed === '') return null;
  const sealer = createSealer(keys);
  const { rawBody, headers } = await openContent(sealer, key, sealed);
  const secrets = await readSecrets(session, sealer, { account: key.account, eventType });
  const text = toText(rawBody);
  return {
    contentType: headers['content-type'] ?? null,
    body: text === undefined ? null : withoutSecrets(text, secrets),
    bytes: rawBody.length,
  };
}

function toText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The secrets that the service may have put into the body. One that cannot be opened is hidden by the name of its field. */
async function readSecrets(
  { client }: Session,
  sealer: Pick<Sealer, 'unseal'>,
  key: SubscriptionKey,
): Promise<string[]> {
  const context = subscriptionId(key);
  const found = await runOf(client, context)
    .find({ withinMs: callTimeoutMs })
    .catch(() => undefined); // Temporal cannot be asked now
  const sealed = (publishedAddresses(found?.memo)?.accepted ?? []).flatMap(({ secrets }) => secrets);
  const opened = await Promise.all(sealed.map((one) => sealer.unseal(one, context).catch(() => '')));
  return opened.filter((secret) => secret !== '');
}

const hidden = '[secret]';

/** The text without these secrets, and without the value of any field that calls itself one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, hidden), text);
  let shown = '';
  let from = 0;
  for (const { 0: name, index } of known.matchAll(/"[^"\\]*secret[^"\\]*"\s*:\s*/gi)) {
    if (index < from) continue; // inside of a value that is hidden
    shown += `${known.slice(from, index)}${name}"${hidden}"`;
    from = endOfValue(known, index + name.length);
  }
  return shown + known.slice(from);
}

/** Where a JSON value that begins here ends; of one that is cut off the end of the text. */
function endOfValue(text: string, from: number): number {
  const tokens = /"(?:[^"\\]|\\.)*"?|[[{]|[\]},]|\s+|[^\s"[\]{},]+/gsy;
  tokens.lastIndex = from;
  let depth = 0;
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const [token] = match;
    if (depth === 0 && /^[\]},\s]/.test(token)) return match.index;
    if (/^[[{]/.test(token)) depth += 1;
    if (/^[\]}]/.test(token)) depth -= 1;
    if (depth === 0) return tokens.lastIndex;
  }
  return text.length;
}

/** One delivery of the list; the facts are null until a worker has seen it. */
export type ListedDelivery = ParkedDeliveryKey &
  Pick<Partial<ParkedDelivery>, 'eventType' | 'reason' | 'receivedAt' | 'aboutOrderId'>;

/** The list as a table. The id stays whole, since people copy it. */
export function parkedText(deliveries: readonly ListedDelivery[], paint: Paint): string {
  if (deliveries.length === 0) return 'No delivery is parked.';
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

const handedOverTexts: Record<DeliveryResult, (order: string) => string> = {
  signalled: (order) => `order ${order} was told`,
  started: (order) => `order ${order} is followed from now on`,
  late: (order) => `order ${order} has already ended`,
  ignored: (order) => `order ${order} is not followed, and this account ignores such orders`,
  followingStopped: (order) => `the following of order ${order} was stopped`,
  endUnreadable: (order) => `how the following of order ${order} ended cannot be read`,
  reported: (order) => `the report of order ${order} was told`,
};

/** What became of a delivery. */
export function decidedText(delivery: DecidedDelivery, handedOver: string | undefined, paint: Paint): string {
  const { deliveryId, discardReason, orderId, outcome } = delivery;
  const order = plain(orderId ?? '');
  const what = outcome === 'routed' ? `routed to order ${order}` : `discarded: ${plain(discardReason ?? '')}`;
  const toDetail = (handedOverTexts as Record<string, (order: string) => string>)[handedOver ?? ''];
  const detail = toDetail ? [`  ${toDetail(order)}`] : [];
  return [paint('strong', `Delivery ${deliveryId} ${what}`), ...detail].join('\n');
}
