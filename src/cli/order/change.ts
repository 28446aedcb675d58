import type { AskOptions, OrderHandle, OrderTrail } from '../../client/index.js';
import { parseStopInput } from '../../domain/order/input.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { reasonOption } from '../arguments.js';
import { type AddCommand, addCommand, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { sendUpdate } from '../sent-update.js';
import { plain, utc } from '../text.js';
import { accountQueue, hasWorker, noWorkerText } from '../workers-alive.js';
import { getOrderRun, readOrderRun, runText, toRunJson, trailText } from './show.js';

/** `order refresh <account> <orderId>`: one read of the order, now. */
export const addRefresh: AddCommand = (order, run) => {
  const help = { does: 'read the order at the service now', examples: ['partner 42'] };
  addCommand(order, 'refresh <account> <orderId>', help).action(run(reading(toRefresh, change)));
};

/** `order stop <account> <orderId>`: the run ends, the order does not. */
export const addStop: AddCommand = (order, run) => {
  const does = 'stop following; the order itself goes on at the service';
  addCommand(order, 'stop <account> <orderId>', { does, examples: ['partner 42 --reason "entered twice"'] })
    .requiredOption(...reasonOption)
    .action(run(reading(toStop, change)));
};

interface Change {
  key: FollowOrderKey;
  send(order: OrderHandle, inTime: AskOptions): Promise<OrderTrail>;
}

const toRefresh = (key: FollowOrderKey): Change => ({ key, send: (order, inTime) => order.refresh(inTime) });

function toStop({ reason, ...key }: FollowOrderKey & { reason: string }): Change {
  const why = parseStopInput({ reason }).reason;
  return { key, send: (order, inTime) => order.stop(why, inTime) };
}

/** Sends an update to the open run and shows the trail in its answer. */
async function change(session: Session, { key, send }: Change): Promise<number> {
  const { isOpen, workflowId } = await getOrderRun(session, key);
  return await sendUpdate(session, {
    isOpen,
    send: (inTime) => send(session.rides.get(key.account, key.orderId), inTime),
    tell(trail) {
      session.tell({ workflowId, state: 'done', trail, failure: null }, trailText(trail, session.paint));
      return exitCodes.done;
    },
    tellEnded: () => tellEnded(session, key),
    async noAnswer() {
      const queue = accountQueue(session, key.account);
      const attention = (await readOrderRun(session, key)).trail?.attention;
      const why = attention ? `${attention.code}: ${attention.message}` : 'the service may be slow';
      return `, but the run has the request: ${(await hasWorker(session, queue)) ? why : noWorkerText(queue)}`;
    },
  });
}

/** Shows how the following ended. The command fails only when the run failed, which leaves no trail. */
export async function tellEnded(session: Session, key: FollowOrderKey): Promise<number> {
  const ended = await readOrderRun(session, key);
  const { endedAt } = ended.found;
  const when = endedAt === null ? '' : ` at ${utc(endedAt)} UTC`;
  session.tell(
    { ...toRunJson(ended), state: 'alreadyEnded' },
    `Following has already ended${when}.\n\n${runText(ended, key, session.paint)}`,
  );
  // The order itself may go on at the service.
  if (ended.trail?.terminal !== true) {
    const command = session.commandLine('order', 'follow', key.account, key.orderId, '--again');
    session.note(`To follow the order again: ${plain(command)}`);
  }
  return ended.trail ? exitCodes.done : exitCodes.failed;
}
