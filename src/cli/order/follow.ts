import type { Command } from 'commander';
import { toInstant } from '../../domain/instant.js';
import type { Notify } from '../../domain/notify/receivers.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../../domain/order/input.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { beginFollowing } from '../../temporal/follow-start.js';
import { checked, type OrderArguments, withNotifyOption, withOrderArguments } from '../arguments.js';
import {
  type CommandContext,
  type CommonOptions,
  callTimeoutMs,
  commandLine,
  type RunCommand,
  type Session,
  withSession,
} from '../command.js';
import { exitCodes } from '../failure.js';
import { plain } from '../text.js';
import { missingWorkers } from '../workers-alive.js';
import { tellEnded } from './change.js';
import { findOrderRun } from './run.js';
import { watchOrder } from './watch.js';

interface TrackOptions extends CommonOptions {
  reference?: string;
  scheduledAt?: string;
  notify?: Notify[];
  again?: boolean;
  watch?: boolean;
}

const help = `
Tracking twice is tracking once: a followed order goes on, and takes what it does not know yet.
One whose following failed, or was cancelled or terminated, is followed again. An ended one is
shown; add --again where its following was stopped, or expired, before the order ended.
Who is given with --notify is told where a followed order stands, then of each change, but nothing
of an ended one.

Examples:
  faretrail track partner 42
  faretrail track business 7b21 --reference trip-9 --scheduled-at 2026-05-01T08:30:00+02:00 --watch
  faretrail track partner 42 --notify https://orders.example.com/changes
  faretrail track partner 42 --notify trip/9:orderChanged
  faretrail track partner 42 --again`;

/** `track <account> <orderId>`: follow an order, once however often it is asked for. */
export function addTrackCommand(program: Command, run: RunCommand): void {
  withNotifyOption(withOrderArguments(program.command('track')))
    .description('follow an order to its end')
    .option('--reference <text>', 'your own id of the order')
    .option(
      '--scheduled-at <instant>',
      'pick-up time, ISO 8601 with offset',
      checked((text) => toInstant(text, '--scheduled-at')),
    )
    .option('--again', 'also if its following was stopped or has expired')
    .option('--watch', 'watch it until it ends')
    .addHelpText('after', help)
    .action(
      run<OrderArguments, TrackOptions>(async (context, [account, orderId], options) => {
        const { reference, scheduledAt, notify } = options;
        const input = parseFollowOrderInput({ account, orderId, reference, scheduledAt, notify }); // before any connection
        return await withSession(context, (session) => track(context, session, input, options));
      }),
    );
}

type Start = 'started' | 'startedAgain' | 'alreadyFollowed' | 'alreadyEnded';

async function track(
  context: CommandContext,
  session: Session,
  input: FollowOrderInput,
  { again = false, watch = false }: TrackOptions,
): Promise<number> {
  const start = await startFollowing(session, input, again);
  // Never a second run of an ended one (I5); its trail is what the caller wanted.
  if (start === 'alreadyEnded') return await tellEnded(context, session, input);
  const warnings = await missingWorkers(session, input.account);
  const workflowId = followOrderId(input);
  context.tell({ workflowId, state: start, warnings }, startText(context, input, { start, hint: !watch }));
  for (const warning of warnings) context.note(`${context.paint('bad', 'warning:')} ${warning}`);
  return watch ? await watchOrder(context, session, input) : exitCodes.done;
}

async function startFollowing(session: Session, input: FollowOrderInput, again: boolean): Promise<Start> {
  const { client, config, within } = session;
  const before = await findOrderRun(session, input); // only for the wording: the start itself is idempotent
  const begun = await within(callTimeoutMs, () =>
    beginFollowing(client, { input, taskQueue: config.taskQueue, again }),
  );
  if ('stays' in begun) return 'alreadyEnded';
  if (begun.after !== null) return 'startedAgain';
  return before === undefined ? 'started' : 'alreadyFollowed';
}

const startTexts: Record<Exclude<Start, 'alreadyEnded'>, string> = {
  started: 'Following',
  startedAgain: 'Following again',
  alreadyFollowed: 'Already following',
};

function startText(
  { env, paint }: CommandContext,
  { account, orderId }: FollowOrderKey,
  { start, hint }: { start: keyof typeof startTexts; hint: boolean },
): string {
  const head = paint('strong', `${startTexts[start]} order ${plain(orderId)} of account ${account}`);
  const lines = [head, `  workflow  ${plain(followOrderId({ account, orderId }))}`];
  if (!hint) return lines.join('\n');
  const next = (command: string) => plain(commandLine(env, command, account, orderId));
  return [...lines, `  see it    ${next('show')}`, `  live      ${next('watch')}`].join('\n');
}
