import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import type { ParkedDelivery } from '../domain/parked-delivery.js';
import { parseDiscardInput, type RoutedDelivery, toDeliveryId } from '../domain/parked-delivery-input.js';
import { parkedDeliveryId } from '../domain/workflow-ids.js';
import { discardDeliveryUpdate, routeDeliveryUpdate } from '../workflows/parked-delivery-messages.js';
import { CliFailure, exitCodes, RunFailed, toRunFailure } from './cli-failure.js';
import { type CommandContext, type CommonOptions, type RunCommand, withSession } from './command-context.js';
import { checked } from './order-command.js';
import { getParked, parkedHandle } from './parked-run.js';
import { decidedText } from './parked-view.js';
import { answerWithinMs, sendUpdate } from './sent-update.js';

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
