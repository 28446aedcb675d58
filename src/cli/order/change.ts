import { WorkflowNotFoundError } from '@temporalio/client';
import { parseStopInput } from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { refreshOrderUpdate, stopFollowingUpdate } from '../../workflows/messages.js';
import type { followOrder } from '../../workflows/order/follow-order.js';
import { type OrderArguments, toOrderKey, withOrderArguments } from '../arguments.js';
import {
  type AddCommand,
  addCommand,
  type CommandContext,
  type CommonOptions,
  inSession,
  type Session,
} from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { plain, utc } from '../text.js';
import { accountQueue, hasWorker, noWorkerText } from '../workers-alive.js';
import { getOrderRun, readTrail } from './run.js';
import { runText, toRunJson, trailText } from './show.js';

/** `order refresh <account> <orderId>`: one read of the order, now. */
export const addRefresh: AddCommand = (order, run) => {
  withOrderArguments(
    addCommand(order, 'refresh', { does: 'read the order at the service now', examples: ['partner 42'] }),
  ).action(
    run(
      inSession(toOrderKey, (context, session, key) =>
        change(context, session, key, () => handleOf(session, key).executeUpdate(refreshOrderUpdate)),
      ),
    ),
  );
};

type StopOptions = CommonOptions & { reason: string };

/** `order stop <account> <orderId>`: the run ends, the order does not. */
export const addStop: AddCommand = (order, run) => {
  const does = 'stop following; the order itself goes on at the service';
  withOrderArguments(addCommand(order, 'stop', { does, examples: ['partner 42 --reason "entered twice"'] }))
    .requiredOption('--reason <text>', 'why, 1 to 200 characters')
    .action(
      run(
        inSession(
          (given: OrderArguments, { reason }: StopOptions) => ({
            key: toOrderKey(given),
            input: parseStopInput({ reason }),
          }),
          (context, session, { key, input }) =>
            change(context, session, key, () =>
              handleOf(session, key).executeUpdate(stopFollowingUpdate, { args: [input] }),
            ),
        ),
      ),
    );
};

const handleOf = ({ client }: Session, key: FollowOrderKey) =>
  client.workflow.getHandle<typeof followOrder>(followOrderId(key));

/** Sends an update to the open run and shows the trail it answers with. */
async function change(
  context: CommandContext,
  session: Session,
  key: FollowOrderKey,
  send: () => Promise<OrderTrail>,
): Promise<number> {
  const outline = await getOrderRun(session, key);
  if (!outline.isOpen) return await tellEnded(context, session, key);
  try {
    const trail = await sendUpdate(session, send, () => noAnswer(session, key));
    const { workflowId } = outline;
    context.tell({ workflowId, state: 'done', trail, failure: null }, trailText(trail, context.paint));
    return exitCodes.done;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return await tellEnded(context, session, key); // ended meanwhile
    throw error;
  }
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
    const command = context.commandLine('order', 'follow', key.account, key.orderId, '--again');
    context.note(`To follow the order again: ${plain(command)}`);
  }
  return ended.trail ? exitCodes.done : exitCodes.failed;
}
