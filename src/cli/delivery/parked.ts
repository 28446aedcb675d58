import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { InvalidInput } from '../../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../../domain/keys.js';
import { type ParkedDelivery, parseDiscardInput, type RoutedDelivery, toDeliveryId } from '../../domain/parked.js';
import { publishedDelivery } from '../../domain/published.js';
import { fromParkedDeliveryId, parkedDeliveryId } from '../../domain/workflow-ids.js';
import { discardDeliveryUpdate, routeDeliveryUpdate } from '../../workflows/messages.js';
import { checked } from '../arguments.js';
import { type CommandContext, type CommonOptions, type RunCommand, withSession } from '../command.js';
import { CliFailure, exitCodes, RunFailed, tellUnreadable, toRunFailure } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { listRuns, runningQuery } from '../visibility.js';
import { getParked, parkedHandle } from './run.js';
import { decidedText, type ListedDelivery, openedText, openParked, parkedText } from './view.js';

interface ParkedOptions extends CommonOptions {
  account?: AccountName;
  open?: string;
}

const limit = 500;

const help = `
A delivery is parked when nobody can say which order it is about, when it failed a check after it
was taken, or when a person has stopped the following of its order (track it with --again, then
route). It waits until a person routes or discards it. --open needs FARETRAIL_WEBHOOK_KEYS (those
of the ingress); it shows the body, secrets hidden.

Examples:
  faretrail parked
  faretrail parked --account business --open 0f5b2a7c9d1e4f60a1b2c3d4e5f60718`;

/** `parked`: deliveries that wait for a person. */
export function addParkedCommand(program: Command, run: RunCommand): void {
  program
    .command('parked')
    .description('list deliveries that nobody could place')
    .option(
      '--account <name>',
      'only of this account',
      checked((text) => toAccountName(text, '--account')),
    )
    .option('--open <deliveryId>', 'show the body of one', checked(toDeliveryId))
    .addHelpText('after', help)
    .action(
      run<[], ParkedOptions>((context, _none, { account, open }) =>
        open === undefined ? list(context, account) : show(context, account, open),
      ),
    );
}

function list(context: CommandContext, account: AccountName | undefined): Promise<number> {
  return withSession(context, async (session) => {
    const { found, hasMore } = await listRuns(session, runningQuery('parkedDelivery', account), limit);
    const deliveries = found.flatMap(({ workflowId, memo }): ListedDelivery[] => {
      const key = fromParkedDeliveryId(workflowId);
      if (!key) return [];
      const { eventType, reason, receivedAt, aboutOrderId } = publishedDelivery(memo) ?? {};
      const facts = eventType && reason && receivedAt ? { eventType, reason, receivedAt } : {};
      return [{ ...key, ...facts, ...(aboutOrderId === undefined ? {} : { aboutOrderId }) }];
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
    const { key, delivery } = await getParked(session, candidates, deliveryId);
    const opened = await openParked(session, key, webhookKeys).catch(tellUnreadable);
    const content = opened ?? { contentType: null, body: null, bytes: 0 };
    context.tell({ ...key, delivery, ...content }, openedText(key, delivery, opened, context.paint));
    return exitCodes.done;
  });
}

type ParkedArguments = [account: AccountName, deliveryId: string];
type Handle = ReturnType<typeof parkedHandle>;

const withParkedArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as business', checked(toAccountName))
    .argument('<deliveryId>', '32 hex digits, as `parked` lists them', checked(toDeliveryId));

/** `route` and `discard`: what ends the wait of a parked delivery. */
export function addParkedChanges(program: Command, run: RunCommand): void {
  withParkedArguments(program.command('route'))
    .description('give a parked delivery to an order')
    .requiredOption(
      '--order <orderId>',
      'the order that it is about',
      checked((text) => toOrderId(text, '--order')),
    )
    .addHelpText('after', '\nExample:\n  faretrail route business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --order 7b21')
    .action(
      run<ParkedArguments, CommonOptions & { order: OrderId }>((context, given, { order: orderId }) =>
        decide(context, given, {
          send: (handle) => handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId }] }),
          isDone: (delivery) => delivery.outcome === 'routed' && delivery.orderId === orderId,
        }),
      ),
    );
  withParkedArguments(program.command('discard'))
    .description('give up a parked delivery')
    .requiredOption('--reason <text>', 'why, 1 to 200 characters')
    .addHelpText('after', '\nExample:\n  faretrail discard business 0f5b2a7c9d1e4f60a1b2c3d4e5f60718 --reason "a test"')
    .action(
      run<ParkedArguments, CommonOptions & { reason: string }>((context, given, { reason }) => {
        const args: [{ reason: string }] = [parseDiscardInput({ reason })]; // before any connection
        return decide(context, given, {
          send: (handle) => handle.executeUpdate(discardDeliveryUpdate, { args }),
          isDone: (delivery) => delivery.outcome === 'discarded',
        });
      }),
    );
}

interface Decision {
  send(handle: Handle): Promise<ParkedDelivery | RoutedDelivery>;
  /** Was it decided in this way before? */
  isDone(delivery: ParkedDelivery): boolean;
}

function decide(
  context: CommandContext,
  [account, deliveryId]: ParkedArguments,
  { send, isDone }: Decision,
): Promise<number> {
  return withSession(context, async (session) => {
    const { key, isOpen } = await getParked(session, [account], deliveryId);
    const handle = parkedHandle(session, key);
    if (!isOpen) return tellDecided(context, await readDecided(handle), isDone);
    try {
      const answer = await sendUpdate(session, () => send(handle), noAnswer);
      const handedOver = 'handedOver' in answer ? answer.handedOver : undefined;
      const text = decidedText(answer, handedOver, context.paint);
      context.tell({ workflowId: parkedDeliveryId(key), state: 'done', delivery: answer }, text);
      return exitCodes.done;
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      return tellDecided(context, await readDecided(handle), isDone); // decided meanwhile
    }
  });
}

async function noAnswer(): Promise<CliFailure> {
  const message = `no answer within ${answerWithinMs / 1_000} s; see what became of it: faretrail parked`;
  return new CliFailure('NoAnswer', message);
}

/** Throws `RunFailed` for a run that somebody terminated, or that could not read its input. */
async function readDecided(handle: Handle): Promise<ParkedDelivery> {
  try {
    return await handle.result();
  } catch (error) {
    throw error instanceof WorkflowFailedError ? new RunFailed(toRunFailure(error.cause)) : error;
  }
}

/** Too late. It is a failure only when something else was decided. */
function tellDecided(context: CommandContext, delivery: ParkedDelivery, isDone: Decision['isDone']): number {
  const text = `This was decided before.\n${decidedText(delivery, undefined, context.paint)}`;
  context.tell({ workflowId: parkedDeliveryId(delivery), state: 'alreadyDecided', delivery }, text);
  return isDone(delivery) ? exitCodes.done : exitCodes.failed;
}
