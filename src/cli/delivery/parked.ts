import type { AskOptions, ParkedDelivery, ParkedHandle, RoutedDelivery } from '../../client/index.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import { parseDiscardInput, toDeliveryId } from '../../domain/parked.js';
import { publishedDelivery } from '../../domain/published.js';
import { fromParkedDeliveryId, type ParkedDeliveryKey, parkedDeliveryId } from '../../domain/workflow-ids.js';
import { runOf } from '../../temporal/runs.js';
import type { parkedDelivery } from '../../workflows/parked-delivery.js';
import { accountOption, checked, orderOption, reasonOption } from '../arguments.js';
import {
  type AddCommand,
  addCommand,
  type CommandContext,
  callTimeoutMs,
  reading,
  type Session,
  withSession,
} from '../command.js';
import { CliFailure, exitCodes, tellUnreadable } from '../failure.js';
import { sendUpdate } from '../sent-update.js';
import { listRuns, runningQuery } from '../visibility.js';
import { decidedText, type ListedDelivery, openedText, openParked, parkedText } from './view.js';

interface ParkedGiven {
  account?: AccountName;
  open?: string;
}

const limit = 500;

const help = `
The ingress parks a delivery when it names no order or fails a late check, or
when a person has stopped following its order (follow the order with --again,
then route). It waits until a person routes or discards it. --open needs the
FARETRAIL_WEBHOOK_KEYS of the ingress; it shows the body with secrets hidden.`;

/** `delivery parked`: deliveries that wait for a person. */
export const addParked: AddCommand = (delivery, run) => {
  const does = 'list parked deliveries, or show the body of one';
  const examples = ['', '--account business --open 0f5b2a7c9d1e4f60a1b2c3d4e5f60718'];
  addCommand(delivery, 'parked', { does, examples, more: help })
    .option(...accountOption)
    .option('--open <deliveryId>', 'show the body of one', checked(toDeliveryId))
    .action(
      run((context, { account, open }: ParkedGiven) =>
        open === undefined ? list(context, account) : show(context, account, open),
      ),
    );
};

function list(context: CommandContext, account: AccountName | undefined): Promise<number> {
  return withSession(context, async (session) => {
    const { found, hasMore } = await listRuns(session, runningQuery('parkedDelivery', account), limit);
    const deliveries = found.flatMap(({ workflowId, memo }): ListedDelivery[] => {
      const key = fromParkedDeliveryId(workflowId);
      const { eventType, reason, receivedAt, aboutOrderId } = publishedDelivery(memo) ?? {};
      return key ? [{ ...key, eventType, reason, receivedAt, aboutOrderId }] : [];
    });
    context.tell({ deliveries, hasMore }, parkedText(deliveries, context.paint));
    if (hasMore) context.note(`There are more than ${limit}; narrow the list with --account.`);
    return exitCodes.done;
  });
}

function show(context: CommandContext, account: AccountName | undefined, deliveryId: string): Promise<number> {
  const { webhookKeys, accounts } = context.loadSettings();
  if (!webhookKeys) throw new InvalidInput('FARETRAIL_WEBHOOK_KEYS: missing; set the keys of the ingress');
  const candidates = account === undefined ? accounts.map(({ name }) => name) : [account];
  if (candidates.length === 0) throw new InvalidInput('--account: missing; no account is set here to look through');
  return withSession(context, async (session) => {
    const { key, found } = await getParked(session, candidates, deliveryId);
    const delivery = publishedDelivery(found.memo); // null until a worker has handled the run
    const opened = await openParked(session, key, webhookKeys).catch(tellUnreadable);
    const content = opened ?? { contentType: null, body: null, bytes: 0 };
    context.tell({ ...key, delivery, ...content }, openedText(key, delivery, opened, context.paint));
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

const decideHelp = `
Repeating a decision exits 0; a different one exits 1.`;

/** `delivery route <account> <deliveryId>` */
export const addRoute: AddCommand = (delivery, run) => {
  const does = 'give a parked delivery to an order';
  const examples = ['business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --order 7b21'];
  addCommand(delivery, 'route <account> <deliveryId>', { does, examples, more: decideHelp })
    .requiredOption(...orderOption('the order that it is about'))
    .action(run(reading(toRoute, decide)));
};

/** `delivery discard <account> <deliveryId>` */
export const addDiscard: AddCommand = (delivery, run) => {
  const does = 'discard a parked delivery';
  const examples = ['business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --reason "a test"'];
  addCommand(delivery, 'discard <account> <deliveryId>', { does, examples, more: decideHelp })
    .requiredOption(...reasonOption)
    .action(run(reading(toDiscard, decide)));
};

interface Decision {
  key: ParkedDeliveryKey;
  send(parked: ParkedHandle, inTime: AskOptions): Promise<ParkedDelivery | RoutedDelivery>;
  /** Was the delivery decided in this way before? */
  isDone(delivery: ParkedDelivery): boolean;
}

const toRoute = ({ order: orderId, ...key }: ParkedDeliveryKey & { order: OrderId }): Decision => ({
  key,
  send: (parked, inTime) => parked.route(orderId, inTime),
  isDone: (delivery) => delivery.outcome === 'routed' && delivery.orderId === orderId,
});

function toDiscard({ reason, ...key }: ParkedDeliveryKey & { reason: string }): Decision {
  const why = parseDiscardInput({ reason }).reason;
  const isDone: Decision['isDone'] = ({ outcome }) => outcome === 'discarded';
  return { key, send: (parked, inTime) => parked.discard(why, inTime), isDone };
}

async function decide(session: Session, { key, send, isDone }: Decision): Promise<number> {
  const { account, deliveryId } = key;
  const { found } = await getParked(session, [account], deliveryId);
  const workflowId = parkedDeliveryId(key);
  return await sendUpdate(session, {
    isOpen: found.isOpen,
    send: (inTime) => send(session.rides.getParked(account, deliveryId), inTime),
    tell(answer) {
      const handedOver = 'handedOver' in answer ? answer.handedOver : undefined;
      const text = decidedText(answer, handedOver, session.paint);
      session.tell({ workflowId, state: 'done', delivery: answer }, text);
      return exitCodes.done;
    },
    /** Only another decision counts as a failure. Rejects for a run that an operator terminated, or that could not read its input. */
    async tellEnded() {
      const run = runOf<typeof parkedDelivery>(session.client, workflowId);
      const delivery = await run.result({ withinMs: callTimeoutMs });
      const text = `This delivery was already decided.\n${decidedText(delivery, undefined, session.paint)}`;
      session.tell({ workflowId, state: 'alreadyDecided', delivery }, text);
      return isDone(delivery) ? exitCodes.done : exitCodes.failed;
    },
    noAnswer: () => '; see what became of it: faretrail delivery parked',
  });
}
