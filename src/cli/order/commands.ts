import type { AskOptions, OrderHandle, OrderTrail } from '../../client/index.js';
import { toInstant } from '../../domain/instant.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../domain/order/input.js';
import { troubleOf } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import {
  accountOption,
  limitOption,
  notifyOption,
  option,
  reasonOption,
  required,
  toStatusFilter,
} from '../arguments.js';
import { inSession, type Noun, reading, type Session } from '../command.js';
import { exitCodes, type RunFailure } from '../failure.js';
import { startingRun } from '../known-account.js';
import { sendUpdate, showRun, tellStart, toldAnswer, viewRun } from '../runs.js';
import { paint, plain, utc } from '../text.js';
import { importCommand } from './import.js';
import { listOrders, orderRun, trailText, watchOrder } from './view.js';

const followHelp = `
An order has one run. Following it again only adds what is new: a reference, a
pick-up time, receivers of notices. When the run failed, was cancelled or was
terminated, the command starts another one. When it was stopped or has expired,
only --again starts another one. Once the order has ended, its trail is shown.
Each --notify receives the status now and each change, but nothing of an order
that has ended.`;

const watchHelp = `
Ends with 0 when the order has ended, with 1 when the run failed. Ctrl-C ends
the watching (exit code 130); the run goes on following the order.`;

const listHelp = `
Running orders come first, the newest at the top; then those that have ended,
the last one at the top, for as long as Temporal keeps them. The list is about a
second behind the runs. To see what needs a person: faretrail attention`;

/** `order …` */
export const orderCommands: Noun = {
  noun: 'order',
  does: 'follow orders to their end, and show their trails',
  verbs: [
    startingRun({
      form: 'follow <account> <orderId>',
      does: 'follow an order to its end',
      examples: [
        'partner 42',
        'business 7b21 --scheduled-at 2026-05-01T08:30:00+02:00 --watch',
        'partner 42 --notify https://orders.example.com/changes',
        'partner 42 --notify trip/9:orderChanged',
        'partner 42 --again',
      ],
      more: followHelp,
      options: [
        option('--reference <text>', 'your own id of the order'),
        option('--scheduled-at <instant>', 'pick-up time, ISO 8601 with offset', toInstant),
        notifyOption(),
        option('--again', 'also after a run that was stopped or has expired'),
        option('--watch', 'print each change until the order ends'),
      ],
      act: reading(toFollowing, follow),
    }),
    importCommand,
    {
      form: 'show <account> <orderId>',
      does: 'show the trail of an order; needs no worker',
      examples: ['partner 42'],
      act: inSession((session, key: FollowOrderKey) => showRun(session, orderRun(session, key))),
    },
    {
      form: 'watch <account> <orderId>',
      does: 'print each change of an order until it ends',
      examples: ['partner 42', `partner 42 --json | jq -r 'select(.change == "status") | .status'`],
      more: watchHelp,
      act: inSession(watchOrder),
    },
    {
      form: 'refresh <account> <orderId>',
      does: 'read the order at the service now',
      examples: ['partner 42'],
      act: inSession((session, key: FollowOrderKey) =>
        change(session, key, {
          send: (order, inTime) => order.refresh(inTime),
          unlessDone: notRead,
          // What has ended at the service is final. Any other order was not read.
          isDoneAtEnd: ({ terminal }) => terminal,
        }),
      ),
    },
    {
      form: 'stop <account> <orderId>',
      does: 'stop following; the order itself goes on at the service',
      examples: ['partner 42 --reason "entered twice"'],
      options: [required(reasonOption())],
      act: inSession((session, { reason, ...key }: FollowOrderKey & { reason: string }) =>
        change(session, key, {
          send: (order, inTime) => order.stop(reason, inTime),
          unlessDone: () => null,
          isDoneAtEnd: () => true,
        }),
      ),
    },
    {
      form: 'list',
      does: 'list followed orders',
      examples: ['--running', '--account partner --status Driving --limit 200'],
      more: listHelp,
      options: [
        accountOption(),
        option('--status <status>', 'only with this status, such as Driving', toStatusFilter),
        option('--running', 'only running ones'),
        limitOption(),
      ],
      act: listOrders,
    },
  ],
};

interface FollowGiven extends FollowOrderInput {
  again?: boolean;
  watch?: boolean;
}

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
  const { account, orderId } = input;
  const workflowId = followOrderId(input);
  const next = (verb: string) => plain(session.commandLine('order', verb, account, orderId));
  const hints = watch ? [] : [`  see it    ${next('show')}`, `  live      ${next('watch')}`];
  const head = paint('strong', `${startTexts[start]} order ${plain(orderId)} of account ${account}`);
  await tellStart(session, {
    json: { workflowId, state: start },
    text: [head, `  workflow  ${plain(workflowId)}`, ...hints].join('\n'),
    account,
  });
  return watch ? await watchOrder(session, input) : exitCodes.done;
}

async function startFollowing(session: Session, input: FollowOrderInput, again: boolean): Promise<Start> {
  const before = await session.find(followOrderId(input)); // only for the wording: the start itself is idempotent
  await session.inTime(() => session.rides.follow(input, { again }));
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

interface Change {
  send(order: OrderHandle, inTime: AskOptions): Promise<OrderTrail>;
  /** Why the command has not done what it claims; null: it has. */
  unlessDone(trail: OrderTrail): RunFailure | null;
  /** Is there nothing left to do for an order that is no longer followed? */
  isDoneAtEnd(trail: OrderTrail): boolean;
}

/** A refresh during trouble is answered with the trail as it was before. */
function notRead(trail: OrderTrail): RunFailure | null {
  const trouble = troubleOf(trail);
  return trouble && { code: 'NotRead', message: `the order could not be read. ${trouble.message}` };
}

/** Sends an update to the open run and shows the trail in its answer. */
async function change(
  session: Session,
  key: FollowOrderKey,
  { send, unlessDone, isDoneAtEnd }: Change,
): Promise<number> {
  const found = await orderRun(session, key).find();
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(session.rides.get(key.account, key.orderId), inTime),
    tell(trail) {
      const failure = unlessDone(trail);
      const { text, exitCode } = toldAnswer(failure, trailText(trail));
      session.tell({ workflowId: found.workflowId, state: failure ? 'notDone' : 'done', trail, failure }, text);
      return exitCode;
    },
    tellEnded: () => tellEnded(session, key, isDoneAtEnd),
  });
}

/**
 * Shows how the following ended. The command fails if the run failed, or if it ended without what the command was to
 * do.
 */
async function tellEnded(
  session: Session,
  key: FollowOrderKey,
  isDone: (trail: OrderTrail) => boolean = () => true,
): Promise<number> {
  const { run, json, text } = await viewRun(session, orderRun(session, key));
  const { endedAt } = run.found;
  const when = endedAt === null ? '' : ` at ${utc(endedAt)} UTC`;
  session.tell({ ...json, state: 'alreadyEnded' }, `Following has already ended${when}.\n\n${text}`);
  // The order itself may go on at the service.
  if (run.result?.terminal !== true) {
    const command = session.commandLine('order', 'follow', key.account, key.orderId, '--again');
    session.note(`To follow the order again: ${plain(command)}`);
  }
  return run.result && isDone(run.result) ? exitCodes.done : exitCodes.failed;
}
