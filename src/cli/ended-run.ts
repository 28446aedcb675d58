import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { exitCodes } from './cli-failure.js';
import type { CommandContext, Session } from './command-context.js';
import { commandLine } from './command-line.js';
import { getOrderRun, readTrail } from './order-run.js';
import { plain, utc } from './plain-text.js';
import { runText, toRunJson } from './run-view.js';

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
