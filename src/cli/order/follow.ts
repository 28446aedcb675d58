import type { AskOptions, OrderHandle, OrderTrail } from '../../client/index.js';
import { toInstant } from '../../domain/instant.js';
import { type FollowOrderInput, parseFollowOrderInput, parseStopInput } from '../../domain/order/input.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { checked, notifyOption, reasonOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { unheardReceivers } from '../notice.js';
import { missingWorkers } from '../processes.js';
import { readRun, sendUpdate } from '../runs.js';
import { plain, utc } from '../text.js';
import { orderRun, orderText, toRunJson, trailText, watchOrder } from './show.js';

interface FollowGiven extends FollowOrderInput {
  again?: boolean;
  watch?: boolean;
}

const help = `
An order has one run. Following it again only adds what is new: a reference, a
pick-up time, receivers of notices. When the run failed, was cancelled or was
terminated, the command starts another one. When it was stopped or has expired,
only --again starts another one. Once the order has ended, its trail is shown.
Each --notify receives the status now and each change, but nothing of an order
that has ended.`;

const examples = [
  'partner 42',
  'business 7b21 --scheduled-at 2026-05-01T08:30:00+02:00 --watch',
  'partner 42 --notify https://orders.example.com/changes',
  'partner 42 --notify trip/9:orderChanged',
  'partner 42 --again',
];

/** `order follow <account> <orderId>`: follow an order, once however often the caller repeats it. */
export const addFollow: AddCommand = (order, run) => {
  addCommand(order, 'follow <account> <orderId>', { does: 'follow an order to its end', examples, more: help })
    .option('--reference <text>', 'your own id of the order')
    .option(
      '--scheduled-at <instant>',
      'pick-up time, ISO 8601 with offset',
      checked((text) => toInstant(text, '--scheduled-at')),
    )
    .option(...notifyOption)
    .option('--again', 'also after a run that was stopped or has expired')
    .option('--watch', 'print each change until the order ends')
    .action(run(reading(toFollowing, follow)));
};

function toFollowing({ again = false, watch = false, ...given }: FollowGiven) {
  const { account, orderId, reference, scheduledAt, notify } = given;
  return { input: parseFollowOrderInput({ account, orderId, reference, scheduledAt, notify }), again, watch };
}

type Following = ReturnType<typeof toFollowing>;

/** What the command found or made. */
type Start = 'started' | 'startedAgain' | 'alreadyFollowed' | 'alreadyEnded';

async function follow(session: Session, { input, again, watch }: Following): Promise<number> {
  const start = await startFollowing(session, input, again);
  // An order that has ended gets no second run; the command shows its trail.
  if (start === 'alreadyEnded') return await tellEnded(session, input);
  const warnings = [...(await missingWorkers(session, input.account)), ...unheardReceivers(session, input.notify)];
  const workflowId = followOrderId(input);
  session.tell({ workflowId, state: start, warnings }, startText(session, input, { start, hint: !watch }));
  session.warn(warnings);
  return watch ? await watchOrder(session, input) : exitCodes.done;
}

async function startFollowing(session: Session, input: FollowOrderInput, again: boolean): Promise<Start> {
  const before = await session.find(followOrderId(input)); // only for the wording: the start itself is idempotent
  await session.within(callTimeoutMs, () => session.rides.follow(input, { again }));
  if (before === undefined) return 'started';
  const after = await orderRun(session, input).find();
  if (after.isOpen && before.isOpen) return 'alreadyFollowed';
  return after.startedAt === before.startedAt ? 'alreadyEnded' : 'startedAgain';
}

const startTexts: Record<Exclude<Start, 'alreadyEnded'>, string> = {
  started: 'Following',
  startedAgain: 'Following again',
  alreadyFollowed: 'Already following',
};

function startText(
  { commandLine, paint }: CommandContext,
  { account, orderId }: FollowOrderKey,
  { start, hint }: { start: keyof typeof startTexts; hint: boolean },
): string {
  const head = paint('strong', `${startTexts[start]} order ${plain(orderId)} of account ${account}`);
  const lines = [head, `  workflow  ${plain(followOrderId({ account, orderId }))}`];
  if (!hint) return lines.join('\n');
  const next = (command: string) => plain(commandLine('order', command, account, orderId));
  return [...lines, `  see it    ${next('show')}`, `  live      ${next('watch')}`].join('\n');
}

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
  const found = await orderRun(session, key).find();
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(session.rides.get(key.account, key.orderId), inTime),
    tell(trail) {
      const { workflowId } = found;
      session.tell({ workflowId, state: 'done', trail, failure: null }, trailText(trail, session.paint));
    },
    tellEnded: () => tellEnded(session, key),
  });
}

/** Shows how the following ended. The command fails only when the run failed, which leaves no trail. */
async function tellEnded(session: Session, key: FollowOrderKey): Promise<number> {
  const ended = await readRun(session, orderRun(session, key));
  const { endedAt } = ended.found;
  const when = endedAt === null ? '' : ` at ${utc(endedAt)} UTC`;
  session.tell(
    { ...toRunJson(ended), state: 'alreadyEnded' },
    `Following has already ended${when}.\n\n${orderText(ended, key, session.paint)}`,
  );
  // The order itself may go on at the service.
  if (ended.result?.terminal !== true) {
    const command = session.commandLine('order', 'follow', key.account, key.orderId, '--again');
    session.note(`To follow the order again: ${plain(command)}`);
  }
  return ended.result ? exitCodes.done : exitCodes.failed;
}
