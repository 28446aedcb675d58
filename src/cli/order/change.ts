import { WorkflowNotFoundError } from '@temporalio/client';
import { parseStopInput } from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { refreshOrderUpdate, stopFollowingUpdate } from '../../workflows/messages.js';
import type { followOrder } from '../../workflows/order/follow-order.js';
import { reasonOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, inSession, reading, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { plain, utc } from '../text.js';
import { accountQueue, hasWorker, noWorkerText } from '../workers-alive.js';
import { getOrderRun, readTrail } from './run.js';
import { runText, toRunJson, trailText } from './show.js';

/** `order refresh <account> <orderId>`: one read of the order, now. */
export const addRefresh: AddCommand = (order, run) => {
  const help = { does: 'read the order at the service now', examples: ['partner 42'] };
  addCommand(order, 'refresh <account> <orderId>', help).action(run(reading(toRefresh, inSession(change))));
};

/** `order stop <account> <orderId>`: the run ends, the order does not. */
export const addStop: AddCommand = (order, run) => {
  const does = 'stop following; the order itself goes on at the service';
  addCommand(order, 'stop <account> <orderId>', { does, examples: ['partner 42 --reason "entered twice"'] })
    .requiredOption(...reasonOption)
    .action(run(reading(toStop, inSession(change))));
};

interface Change {
  key: FollowOrderKey;
  send(handle: ReturnType<typeof handleOf>): Promise<OrderTrail>;
}

const toRefresh = ({ account, orderId }: FollowOrderKey): Change => ({
  key: { account, orderId },
  send: (handle) => handle.executeUpdate(refreshOrderUpdate),
});

function toStop({ account, orderId, reason }: FollowOrderKey & { reason: string }): Change {
  const input = parseStopInput({ reason });
  return {
    key: { account, orderId },
    send: (handle) => handle.executeUpdate(stopFollowingUpdate, { args: [input] }),
  };
}

const handleOf = ({ client }: Session, key: FollowOrderKey) =>
  client.workflow.getHandle<typeof followOrder>(followOrderId(key));

/** Sends an update to the open run and shows the trail it answers with. */
async function change(context: CommandContext, session: Session, { key, send }: Change): Promise<number> {
  const outline = await getOrderRun(session, key);
  if (!outline.isOpen) return await tellEnded(context, session, key);
  try {
    const trail = await sendUpdate(
      session,
      () => send(handleOf(session, key)),
      () => noAnswer(session, key),
    );
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
  return new CliFailure(
    'NoAnswer',
    `no answer within ${answerWithinMs / 1_000} s, but the run has the request: ${why}`,
  );
}

/** Tells a command that comes too late how the following ended. Failed only when the run failed, so left no trail. */
export async function tellEnded(context: CommandContext, session: Session, key: FollowOrderKey): Promise<number> {
  const ended = await readTrail(session, key, await getOrderRun(session, key));
  const when = ended.endedAt === null ? '' : ` at ${utc(ended.endedAt)} UTC`;
  context.tell(
    { ...toRunJson(ended), state: 'alreadyEnded' },
    `Following has already ended${when}.\n\n${runText(ended, key, context.paint)}`,
  );
  // The run has ended, but maybe not the order.
  if (ended.trail?.terminal !== true) {
    const command = context.commandLine('order', 'follow', key.account, key.orderId, '--again');
    context.note(`To follow the order again: ${plain(command)}`);
  }
  return ended.trail ? exitCodes.done : exitCodes.failed;
}
