import { toInstant } from '../../domain/instant.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../domain/order/input.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { checked, notifyOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { unheardReceivers } from '../notice.js';
import { plain } from '../text.js';
import { missingWorkers } from '../workers-alive.js';
import { tellEnded } from './change.js';
import { getOrderRun } from './show.js';
import { watchOrder } from './watch.js';

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
  const after = await getOrderRun(session, input);
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
