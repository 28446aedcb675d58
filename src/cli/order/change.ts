import type { AskOptions, OrderHandle, OrderTrail } from '../../client/index.js';
import { parseStopInput } from '../../domain/order/input.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { reasonOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, inSession, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { sendUpdate } from '../sent-update.js';
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
  send(order: OrderHandle, inTime: AskOptions): Promise<OrderTrail>;
}

const toRefresh = ({ account, orderId }: FollowOrderKey): Change => ({
  key: { account, orderId },
  send: (order, inTime) => order.refresh(inTime),
});

function toStop({ account, orderId, reason }: FollowOrderKey & { reason: string }): Change {
  const why = parseStopInput({ reason }).reason;
  return {
    key: { account, orderId },
    send: (order, inTime) => order.stop(why, inTime),
  };
}

/** Sends an update to the open run and shows the trail it answers with. */
async function change(context: CommandContext, session: Session, { key, send }: Change): Promise<number> {
  const { isOpen, workflowId } = await getOrderRun(session, key);
  return await sendUpdate(session, {
    isOpen,
    send: (inTime) => send(session.rides.get(key.account, key.orderId), inTime),
    tell(trail) {
      context.tell({ workflowId, state: 'done', trail, failure: null }, trailText(trail, context.paint));
      return exitCodes.done;
    },
    tellEnded: () => tellEnded(context, session, key),
    noAnswer: async () => `, but the run has the request: ${await whyNoAnswer(session, key)}`,
  });
}

async function whyNoAnswer(session: Session, key: FollowOrderKey): Promise<string> {
  const queue = accountQueue(session, key.account);
  const { trail } = await readTrail(session, key, await getOrderRun(session, key));
  const standing = trail?.attention ? `${trail.attention.code}: ${trail.attention.message}` : 'the service may be slow';
  return (await hasWorker(session, queue)) ? standing : noWorkerText(queue);
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
