import type { Workflow } from '@temporalio/client';
import { parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import type { SubscriptionEnd, SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { type CallOptions, type Run, runOf } from '../../temporal/runs.js';
import { endSubscriptionUpdate, moveSubscriptionUpdate, rotateSubscriptionUpdate } from '../../workflows/messages.js';
import { checked, publicUrlOption, reasonOption, toDurationMs } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, reading, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { sendUpdate } from '../sent-update.js';
import { readSubscriptionStatus, subscriptionEndText, subscriptionText } from './view.js';

const graceOption = [
  '--grace <duration>',
  'how long the ingress accepts the old address: 90s, 30m, 24h, or 0 (default: a day)',
  checked(toDurationMs, '--grace'),
] as const;

/** `subscription rotate <account> <eventType>` */
export const addRotate: AddCommand = (subscription, run) => {
  const does = 'give a subscription a new path and secret';
  const examples = ['business status_changed --grace 30m'];
  addCommand(subscription, 'rotate <account> <eventType>', { does, examples })
    .option(...graceOption)
    .action(run(reading(toRotate, change)));
};

/** `subscription move <account> <eventType>` */
export const addMove: AddCommand = (subscription, run) => {
  const does = 'have a subscription deliver to another public URL';
  const examples = ['business status_changed --public-url https://rides.example'];
  addCommand(subscription, 'move <account> <eventType>', { does, examples })
    .requiredOption(...publicUrlOption)
    .option(...graceOption)
    .action(run(reading(toMove, change)));
};

/** `subscription end <account> <eventType>` */
export const addEnd: AddCommand = (subscription, run) => {
  const does = 'end a subscription: the ingress refuses its deliveries';
  const examples = ['business status_changed --reason "moved away"'];
  addCommand(subscription, 'end <account> <eventType>', { does, examples })
    .option(...reasonOption, 'ended by hand')
    .action(run(reading(toEnd, change)));
};

/** What changes a subscription. */
interface Change {
  key: SubscriptionKey;
  send(run: Run<Workflow>, inTime: CallOptions): Promise<SubscriptionStatus | SubscriptionEnd>;
}

type GraceGiven = SubscriptionKey & { grace?: number };

function toRotate({ grace: graceMs, ...key }: GraceGiven): Change {
  const input = parseRotateInput({ graceMs });
  return { key, send: (run, inTime) => run.update(rotateSubscriptionUpdate, [input], inTime) };
}

function toMove({ publicUrl, grace: graceMs, ...key }: GraceGiven & { publicUrl: string }): Change {
  const input = parseMoveInput({ publicUrl, graceMs });
  return { key, send: (run, inTime) => run.update(moveSubscriptionUpdate, [input], inTime) };
}

function toEnd({ reason, ...key }: SubscriptionKey & { reason: string }): Change {
  const input = parseEndInput({ reason });
  return { key, send: (run, inTime) => run.update(endSubscriptionUpdate, [input], inTime) };
}

/** Sends an update to the running subscription and shows the answer. Throws `CliFailure` NotSubscribed, NoWorker, NoAnswer. */
async function change(context: CommandContext, session: Session, { key, send }: Change): Promise<number> {
  const workflowId = subscriptionId(key);
  const found = await session.find(workflowId);
  if (!found) throw notSubscribed(key, 'does not exist');
  const run = runOf(session.client, workflowId);
  return await sendUpdate(session, {
    isOpen: found.isOpen,
    send: (inTime) => send(run, inTime),
    tell(answer) {
      if ('endedAt' in answer) context.tell({ workflowId, end: answer }, subscriptionEndText(answer, context.paint));
      else context.tell({ workflowId, subscription: answer }, subscriptionText(answer, context.paint));
      return exitCodes.done;
    },
    tellEnded: () => Promise.reject(notSubscribed(key, 'has ended')),
    async noAnswer() {
      const attention = (await readSubscriptionStatus(session, key))?.attention;
      const why = attention ? `${attention.code}: ${attention.message}` : 'the service may be slow';
      return `, but the subscription has the request and keeps trying: ${why}`;
    },
  });
}

const notSubscribed = ({ account, eventType }: SubscriptionKey, why: string): CliFailure =>
  new CliFailure(
    'NotSubscribed',
    `the subscription of account ${account} to ${eventType} ${why}; create it with: faretrail subscription create ${account} ${eventType}`,
  );
