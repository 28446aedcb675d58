import type { ParkedDelivery as DecidedDelivery } from '../../client/index.js';
import { type DeliveryResult, parkReasonTexts } from '../../domain/delivery.js';
import { type ParkedDelivery, type ParkedDeliveryInput, parseParkedDeliveryInput } from '../../domain/parked.js';
import { publishedAddresses } from '../../domain/published.js';
import {
  type ParkedDeliveryKey,
  parkedDeliveryId,
  type SubscriptionKey,
  subscriptionId,
} from '../../domain/workflow-ids.js';
import type { KeyRing } from '../../sealing/key-ring.js';
import { createSealer, type Sealer } from '../../sealing/sealer.js';
import { decodeAll } from '../../temporal/payloads.js';
import { runOf } from '../../temporal/runs.js';
import { openContent } from '../../webhooks/sealed-content.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure } from '../failure.js';
import { clip, type Paint, type Pair, pairsText, plain, tableText, toLines, utc } from '../text.js';

/** What the run was started with, with the sealed content. Only the first event of the history holds it. */
async function readParkedInput(session: Session, key: ParkedDeliveryKey): Promise<ParkedDeliveryInput> {
  const { client } = session;
  const [start] = await runOf(client, parkedDeliveryId(key)).events({ withinMs: callTimeoutMs });
  const { payloads } = start?.workflowExecutionStartedEventAttributes?.input ?? {};
  if (!payloads?.length)
    throw new CliFailure('ContentUnreadable', 'Temporal does not show what the run was started with');
  const [input] = await decodeAll(client, payloads);
  return parseParkedDeliveryInput(input);
}

/** The content of a parked delivery, with secrets hidden. */
interface OpenedDelivery {
  contentType: string | null;
  /** Null when the body is not UTF-8 text. */
  body: string | null;
  bytes: number;
}

/** Unseals the content; null where the ingress kept none. Throws `SealingError` when these are not the keys of the ingress. */
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

/** The secrets that the service may have put into the body. A secret that cannot be unsealed is hidden by the name of its field. */
async function readSecrets(session: Session, sealer: Pick<Sealer, 'unseal'>, key: SubscriptionKey): Promise<string[]> {
  const context = subscriptionId(key);
  const found = await session.find(context).catch(() => undefined); // Temporal cannot be reached now
  const sealed = (publishedAddresses(found?.memo)?.accepted ?? []).flatMap(({ secrets }) => secrets);
  const opened = await Promise.all(sealed.map((one) => sealer.unseal(one, context).catch(() => '')));
  return opened.filter((secret) => secret !== '');
}

const hidden = '[secret]';

/** The text without these secrets, and without the value of any field that has "secret" in its name. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, hidden), text);
  let shown = '';
  let from = 0;
  for (const { 0: name, index } of known.matchAll(/"[^"\\]*secret[^"\\]*"\s*:\s*/gi)) {
    if (index < from) continue; // within a value that is already hidden
    shown += `${known.slice(from, index)}${name}"${hidden}"`;
    from = endOfValue(known, index + name.length);
  }
  return shown + known.slice(from);
}

/** Where the JSON value that begins at `from` ends: the end of the text for a value that is cut off. */
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

/** One delivery of the list; all but its key is undefined until a worker has handled its run. */
export type ListedDelivery = ParkedDeliveryKey & {
  [Field in 'eventType' | 'reason' | 'receivedAt' | 'aboutOrderId']: ParkedDelivery[Field] | undefined;
};

/** The list as a table. Ids are not cut, since people copy them. */
export function parkedText(deliveries: readonly ListedDelivery[], paint: Paint): string {
  if (deliveries.length === 0) return 'No delivery is parked.';
  const rows = deliveries.map(({ account, deliveryId, eventType, reason, receivedAt, aboutOrderId }) => [
    clip(account, 16),
    deliveryId,
    eventType ?? '-',
    reason ?? '-',
    utc(receivedAt),
    plain(aboutOrderId ?? '-'),
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
  const facts: Pair[] = [
    ['why', delivery === null ? 'not known yet' : parkReasonTexts[delivery.reason]],
    ['received', delivery === null ? '-' : `${utc(delivery.receivedAt)} UTC`],
    ['outcome', delivery?.outcome ?? 'waiting'],
    ['order', delivery?.aboutOrderId && plain(delivery.aboutOrderId)],
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
  signalled: (order) => `order ${order} has received it`,
  started: (order) => `order ${order} is followed from now on`,
  late: (order) => `order ${order} has already ended`,
  ignored: (order) => `order ${order} is not followed, and this account ignores such orders`,
  followingStopped: (order) => `the following of order ${order} was stopped`,
  endUnreadable: (order) => `order ${order} is no longer followed, and this process cannot read how that ended`,
  reported: (order) => `the run for reports about order ${order} has received it`,
};

/** What became of a delivery. */
export function decidedText(delivery: DecidedDelivery, handedOver: string | undefined, paint: Paint): string {
  const { deliveryId, discardReason, orderId, outcome } = delivery;
  const order = plain(orderId ?? '');
  const what = {
    waiting: 'waits',
    routed: `routed to order ${order}`,
    discarded: `discarded: ${plain(discardReason ?? '')}`,
    expired: 'expired: it waited for 30 days without a decision',
  }[outcome];
  const toDetail = (handedOverTexts as Record<string, (order: string) => string>)[handedOver ?? ''];
  const detail = toDetail ? [`  ${toDetail(order)}`] : [];
  return [paint('strong', `Delivery ${deliveryId} ${what}`), ...detail].join('\n');
}
