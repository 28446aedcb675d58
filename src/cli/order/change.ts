import { WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { parseStopInput } from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { refreshOrderUpdate, stopFollowingUpdate } from '../../workflows/messages.js';
import type { followOrder } from '../../workflows/order/follow-order.js';
import { type OrderArguments, withOrderArguments } from '../arguments.js';
import {
  type CommandContext,
  type CommonOptions,
  commandLine,
  type RunCommand,
  type Session,
  withSession,
} from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { plain, utc } from '../text.js';
import { accountQueue, hasWorker, noWorkerText } from '../workers-alive.js';
import { getOrderRun, readTrail } from './run.js';
import { runText, toRunJson, trailText } from './show.js';

/** `refresh` and `stop`: what changes a followed order. */
export function addChangeCommands(program: Command, run: RunCommand): void {
  withOrderArguments(program.command('refresh'))
    .description('read the order now')
    .addHelpText('after', '\nExample:\n  faretrail refresh partner 42')
    .action(
      run<OrderArguments>(async (context, [account, orderId]) => {
        const key = { account, orderId };
        return await change(context, key, (session) => handleOf(session, key).executeUpdate(refreshOrderUpdate));
      }),
    );
  withOrderArguments(program.command('stop'))
    .description('stop following; the order goes on at the service')
    .requiredOption('--reason <text>', 'why, 1 to 200 characters')
    .addHelpText('after', '\nExample:\n  faretrail stop partner 42 --reason "entered twice"')
    .action(
      run<OrderArguments, CommonOptions & { reason: string }>(async (context, [account, orderId], { reason }) => {
        const key = { account, orderId };
        const args: [{ reason: string }] = [parseStopInput({ reason })]; // before any connection
        return await change(context, key, (session) =>
          handleOf(session, key).executeUpdate(stopFollowingUpdate, { args }),
        );
      }),
    );
}

const handleOf = ({ client }: Session, key: FollowOrderKey) =>
  client.workflow.getHandle<typeof followOrder>(followOrderId(key));

/** Sends an update to the open run and shows the trail it answers with. */
function change(
  context: CommandContext,
  key: FollowOrderKey,
  send: (session: Session) => Promise<OrderTrail>,
): Promise<number> {
  return withSession(context, async (session) => {
    const outline = await getOrderRun(session, key);
    if (!outline.isOpen) return await tellEnded(context, session, key);
    try {
      const trail = await sendUpdate(
        session,
        () => send(session),
        () => noAnswer(session, key),
      );
      context.tell(
        { workflowId: outline.workflowId, state: 'done', trail, failure: null },
        trailText(trail, context.paint),
      );
      return exitCodes.done;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return await tellEnded(context, session, key); // ended meanwhile
      throw error;
    }
  });
}

async function noAnswer(session: Session, key: FollowOrderKey): Promise<CliFailure> {
  const queue = accountQueue(session, key.account);
  const { trail } = await readTrail(session, key, await getOrderRun(session, key));
  const standing = trail?.attention ? `${trail.attention.code}: ${trail.attention.message}` : 'the service may be slow';
  const why = (await hasWorker(session, queue)) ? standing : noWorkerText(queue);
  return new CliFailure('NoAnswer', `no answer within ${answerWithinMs / 1_000} s, but the run has been asked: ${why}`);
}

/** Tells a command that comes too late how the following ended. Failed only when the run failed, so left no trail. */
export async function tellEnded(context: CommandContext, session: Session, key: FollowOrderKey): Promise<number> {
  const ended = await readTrail(session, key, await getOrderRun(session, key));
  const when = ended.endedAt === null ? '' : ` at ${utc(ended.endedAt)} UTC`;
  context.tell(
    { ...toRunJson(ended), state: 'alreadyEnded' },
    `Following has already ended${when}.\n\n${runText(ended, key, context.paint)}`,
  );
  // The order itself may go on.
  if (ended.trail?.terminal !== true) {
    const command = commandLine(context.env, 'track', key.account, key.orderId);
    context.note(`To follow the order again: ${plain(command)} --again`);
  }
  return ended.trail ? exitCodes.done : exitCodes.failed;
}
