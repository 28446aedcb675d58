import { isUtf8 } from 'node:buffer';
import type {
  AskOptions,
  ParkedDelivery as DecidedDelivery,
  ParkedHandle,
  RoutedDelivery,
} from '../../client/index.js';
import { bodyShape, shapeLines } from '../../contracts/body-shape.js';
import { readIncomingJson } from '../../contracts/json.js';
import { type DeliveryResult, parkReasonTexts } from '../../domain/delivery.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import { type ParkedDelivery, parseParkedDeliveryInput, toDeliveryId } from '../../domain/parked.js';
import { publishedAddresses, publishedDelivery } from '../../domain/published.js';
import {
  type ParkedDeliveryKey,
  parkedDeliveryId,
  type SubscriptionKey,
  subscriptionId,
} from '../../domain/workflow-ids.js';
import type { KeyRing } from '../../sealing/key-ring.js';
import { createSealer, type Sealer } from '../../sealing/sealer.js';
import { findParked } from '../../temporal/parked.js';
import { decodeAll, runOf } from '../../temporal/runs.js';
import { type CutBody, openContent } from '../../webhooks/raw-delivery.js';
import type { parkedDelivery } from '../../workflows/parked-delivery.js';
import { accountOption, option, orderOption, reasonOption, required } from '../arguments.js';
import {
  type CommandContext,
  callTimeoutMs,
  inSession,
  listing,
  type Noun,
  type Session,
  withSession,
} from '../command.js';
import { CliFailure, exitCodes, tellUnreadable } from '../failure.js';
import { sendUpdate } from '../runs.js';
import { cardText, hidden, paint, plain, toLines, utc, withoutSecrets } from '../text.js';
import { sendCommand } from './send.js';

const help = `
The ingress parks a delivery when it names no order or fails a late check, or
when a person has stopped following its order (follow the order with --again,
then route). It waits until a person routes or discards it. --open needs the
FARETRAIL_WEBHOOK_KEYS of the ingress; it shows the body with secrets
hidden, and the places in it that pointers of the contract profile can name.
Of a long body the first 16 KiB were kept.`;

const decideHelp = `
Repeating a decision exits 0; a different one exits 1.`;

/** `delivery …` */
export const deliveryCommands: Noun = {
  noun: 'delivery',
  does: 'place parked deliveries, send a test one',
  verbs: [
    {
      form: 'parked',
      does: 'list parked deliveries, or show the body of one',
      examples: ['', '--account business --open 0f5b2a7c9d1e4f60a1b2c3d4e5f60718'],
      more: help,
      options: [accountOption(), option('--open <deliveryId>', 'show the body of one', toDeliveryId)],
      act: (context, { account, open }: { account?: AccountName; open?: string }) =>
        open === undefined ? list(context, { account }) : show(context, account, open),
    },
    {
      form: 'route <account> <deliveryId>',
      does: 'give a parked delivery to an order',
      examples: ['business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --order 7b21'],
      more: decideHelp,
      options: [required(orderOption('the order that it is about'))],
      act: inSession((session, { order: orderId, ...key }: ParkedDeliveryKey & { order: OrderId }) =>
        decide(session, key, {
          send: (parked, inTime) => parked.route(orderId, inTime),
          isDone: (delivery) => delivery.outcome === 'routed' && delivery.orderId === orderId,
        }),
      ),
    },
    {
      form: 'discard <account> <deliveryId>',
      does: 'discard a parked delivery',
      examples: ['business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --reason "a test"'],
      more: decideHelp,
      options: [required(reasonOption())],
      act: inSession((session, { reason, ...key }: ParkedDeliveryKey & { reason: string }) =>
        decide(session, key, {
          send: (parked, inTime) => parked.discard(reason, inTime),
          isDone: ({ outcome }) => outcome === 'discarded',
        }),
      ),
    },
    sendCommand,
  ],
};

const limit = 500;

const list = listing({
  name: 'deliveries',
  empty: 'No delivery is parked.',
  find: (session, { account }: { account: AccountName | undefined }) => findParked(session, { account, limit }),
  // Ids are not cut, since people copy them.
  columns: {
    ...{ account: 'account', delivery: 'deliveryId', 'event type': 'eventType', reason: 'reason' },
    ...{ 'received (UTC)': 'receivedAt', order: 'aboutOrderId' },
  },
});

function show(context: CommandContext, account: AccountName | undefined, deliveryId: string): Promise<number> {
  const { webhookKeys, accounts } = context.loadSettings(context.env);
  if (!webhookKeys) throw new InvalidInput('FARETRAIL_WEBHOOK_KEYS: missing; set the keys of the ingress');
  const candidates = account === undefined ? accounts.map(({ name }) => name) : [account];
  if (candidates.length === 0) throw new InvalidInput('--account: missing; no account is set here to look through');
  return withSession(context, async (session) => {
    const { key, found } = await getParked(session, candidates, deliveryId);
    const delivery = publishedDelivery(found.memo); // null until a worker has handled the run
    const opened = await openParked(session, key, webhookKeys).catch(tellUnreadable);
    const content = opened ?? { contentType: null, body: null, shape: [], bytes: 0, cut: null };
    context.tell({ ...key, delivery, ...content }, openedText(key, delivery, opened));
    return exitCodes.done;
  });
}

/** The run of the delivery at the first of these accounts that has parked it. Throws `CliFailure` NotParked. */
async function getParked(session: Session, accounts: readonly AccountName[], deliveryId: string) {
  for (const account of accounts) {
    const key = { account, deliveryId };
    const found = await session.find(parkedDeliveryId(key));
    if (found) return { key, found };
  }
  throw new CliFailure('NotParked', `no delivery ${deliveryId} is parked there; see: faretrail delivery parked`);
}

interface Decision {
  send(parked: ParkedHandle, inTime: AskOptions): Promise<DecidedDelivery | RoutedDelivery>;
  /** Was the delivery decided in this way before? */
  isDone(delivery: DecidedDelivery): boolean;
}

async function decide(session: Session, key: ParkedDeliveryKey, { send, isDone }: Decision): Promise<number> {
  const { account, deliveryId } = key;
  const { found } = await getParked(session, [account], deliveryId);
  const { workflowId } = found;
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(session.rides.getParked(account, deliveryId), inTime),
    tell(delivery) {
      session.tell({ workflowId, state: 'done', delivery }, decidedText(delivery));
      return exitCodes.done;
    },
    /** Only another decision counts as a failure. Rejects for a run that an operator terminated, or that could not read its input. */
    async tellEnded() {
      const run = runOf<typeof parkedDelivery>(session.client, workflowId);
      const delivery = await run.result({ withinMs: callTimeoutMs });
      const text = `This delivery was already decided.\n${decidedText(delivery)}`;
      session.tell({ workflowId, state: 'alreadyDecided', delivery }, text);
      return isDone(delivery) ? exitCodes.done : exitCodes.failed;
    },
  });
}

/** The content of a parked delivery, with secrets hidden. */
interface OpenedDelivery {
  contentType: string | null;
  /** Null when the body is not UTF-8 text. */
  body: string | null;
  /** Its places and their types, inside texts as well: what a pointer of the contract profile can name. */
  shape: string[];
  /** What was kept of the body. */
  bytes: number;
  /** Null when all of it was kept. */
  cut: CutBody | null;
}

/** Unseals the content; null where the ingress kept none. Throws `SealingError` when these are not the keys of the ingress. */
async function openParked(session: Session, key: ParkedDeliveryKey, keys: KeyRing): Promise<OpenedDelivery | null> {
  const { client } = session;
  // Only the first event of the history holds the sealed content.
  const [start] = (await runOf(client, parkedDeliveryId(key)).events({ withinMs: callTimeoutMs })) ?? [];
  const { payloads } = start?.workflowExecutionStartedEventAttributes?.input ?? {};
  if (!payloads?.length)
    throw new CliFailure('ContentUnreadable', 'Temporal does not show what the run was started with');
  const { sealed, eventType } = parseParkedDeliveryInput((await decodeAll(client, payloads))[0]);
  if (sealed === '') return null;
  const sealer = createSealer(keys);
  const { unpacked, headers, cut } = await openContent(sealer, key, sealed);
  const secrets = await readSecrets(session, sealer, { account: key.account, eventType });
  return {
    contentType: headers['content-type'] ?? null,
    body: isUtf8(unpacked) ? shownBody(unpacked.toString(), secrets) : null,
    shape: cut === null ? shapeLines(bodyShape(readIncomingJson(unpacked, { mustBeUtf8: true })?.value)) : [],
    bytes: unpacked.length,
    cut,
  };
}

/** The secrets that the service may have put into the body. A secret that cannot be unsealed is hidden by the name of its field. */
async function readSecrets(session: Session, sealer: Pick<Sealer, 'unseal'>, key: SubscriptionKey): Promise<string[]> {
  const context = subscriptionId(key);
  const found = await session.find(context).catch(() => undefined); // Temporal cannot be reached now
  const sealed = (publishedAddresses(found?.memo)?.accepted ?? []).flatMap(({ secrets }) => secrets);
  const opened = await Promise.all(sealed.map((one) => sealer.unseal(one, context).catch(() => '')));
  return opened.filter((secret) => secret !== '');
}

/** A field with "secret" in its name, and its value. Of a list, an object or a value in a text that holds JSON (its quotes are escaped) we do not
 *  look for the end: the rest of the text goes. */
const secretField = /("[^"\\]*secret[^"\\]*\\*"\s*:\s*)(?:\\+".*|"(?:[^"\\]|\\.)*"?|[[{].*|[^\s,}\]]+)/gis;

/** What may be base64 (RFC 4648 sections 4 and 5): JSON may escape each slash, and a letter behind a backslash is part of an escape. */
const mayBeBase64 = /(?<!\\)(?:[\w+/-]|\\\/){12,}={0,2}/g;

/** The text, or a mark in its place if it is base64 that holds a secret. */
function hiddenIfSecret(text: string, secrets: readonly string[]): string {
  const inside = Buffer.from(text.replaceAll('\\', ''), 'base64').toString();
  return shownBody(inside, secrets) === inside ? text : hidden;
}

/** The body without these secrets, and without the value of any field that has "secret" in its name, in base64 as well. */
export const shownBody = (text: string, secrets: readonly string[]): string =>
  withoutSecrets(text, secrets)
    .replace(mayBeBase64, (run) => hiddenIfSecret(run, secrets))
    .replace(secretField, `$1"${hidden}"`);

const sizeText = ({ bytes, cut }: OpenedDelivery): string =>
  cut === null ? `${bytes} bytes` : `the first ${bytes} of ${cut.bytes} bytes`;

/** One delivery with its content. Safe for a terminal. */
function openedText(key: ParkedDeliveryKey, delivery: ParkedDelivery | null, opened: OpenedDelivery | null): string {
  const card = cardText(`Delivery ${key.deliveryId} of account ${key.account}`, [
    ['why', delivery === null ? 'not known yet' : parkReasonTexts[delivery.reason]],
    ['received', delivery === null ? '-' : `${utc(delivery.receivedAt)} UTC`],
    ['happened', delivery?.eventTime && `${utc(delivery.eventTime)} UTC, by the service's clock`],
    ['outcome', delivery?.outcome ?? 'waiting'],
    ['order', delivery?.aboutOrderId && plain(delivery.aboutOrderId)],
    ['body', opened ? `${sizeText(opened)}, ${plain(opened.contentType ?? 'no content type')}` : 'none was kept'],
    ['sha256', opened?.cut && `${plain(opened.cut.sha256)}, of the whole body`],
  ]);
  if (opened === null) return card;
  const body = opened.body === null ? paint('faint', 'not a text') : toLines(opened.body);
  return [card, '', body, '', ...opened.shape.map(plain)].join('\n');
}

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
function decidedText(delivery: DecidedDelivery | RoutedDelivery): string {
  const { deliveryId, discardReason, orderId, outcome } = delivery;
  const order = plain(orderId ?? '');
  const what = {
    waiting: 'waits',
    routed: `routed to order ${order}`,
    discarded: `discarded: ${plain(discardReason ?? '')}`,
    expired: 'expired: it waited for 30 days without a decision',
  }[outcome];
  // A later release may know more results.
  const texts: Partial<Record<string, (order: string) => string>> = handedOverTexts;
  const detail = 'handedOver' in delivery ? texts[delivery.handedOver]?.(order) : undefined;
  return [paint('strong', `Delivery ${deliveryId} ${what}`), ...(detail ? [`  ${detail}`] : [])].join('\n');
}
