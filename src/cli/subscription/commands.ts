import { setTimeout as sleep } from 'node:timers/promises';
import type { Workflow } from '@temporalio/client';
import { actsForCompany } from '../../domain/account.js';
import { InvalidInput } from '../../domain/errors.js';
import {
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  type SubscriptionInput,
} from '../../domain/subscription/input.js';
import type { SubscriptionEnd, SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { type CallOptions, type Run, runOf } from '../../temporal/runs.js';
import { endSubscriptionUpdate, moveSubscriptionUpdate, rotateSubscriptionUpdate } from '../../workflows/messages.js';
import { checked, publicUrlOption, reasonOption, toDurationMs } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, reading, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { judgeIngress } from '../ingress-reachability.js';
import { sendUpdate } from '../sent-update.js';
import { missingWorkers } from '../workers-alive.js';
import { readSubscriptionStatus, subscriptionEndText, subscriptionText } from './view.js';

interface CreateGiven extends SubscriptionKey {
  publicUrl?: string;
  resubscribe?: boolean;
}

const inPlaceWithinMs = 30_000;

const createHelp = `
Creating it twice changes nothing: a running subscription is shown as it is. The
command waits up to 30 s for the service to confirm it. It ends with 1 when the
service has not, or when the subscription has another public URL.`;

/** `subscription create <account> <eventType>`: have the service deliver events, once however often the caller repeats it. */
export const addCreate: AddCommand = (subscription, run) => {
  const does = 'have the service deliver events to the ingress';
  const examples = ['business status_changed --public-url https://rides.example', 'business business_report'];
  addCommand(subscription, 'create <account> <eventType>', { does, examples, more: createHelp })
    .option('--public-url <url>', 'public https base of the ingress (default: FARETRAIL_PUBLIC_URL)')
    .option('--resubscribe', 'subscribe again by itself when deliveries stop coming')
    .action(run(reading(toInput, create)));
};

function toInput(given: CreateGiven, context: CommandContext): SubscriptionInput {
  const { account, eventType, publicUrl = context.loadSettings().publicUrl, resubscribe } = given;
  if (publicUrl === null) throw new InvalidInput('--public-url: missing; give it, or set FARETRAIL_PUBLIC_URL');
  const input = parseSubscriptionInput({ account, eventType, publicUrl, ...(resubscribe ? { resubscribe } : {}) });
  // A worker checks accounts that are not in these settings.
  const known = context.loadSettings().accounts.find(({ name }) => name === account);
  if (known && !actsForCompany[known.interface])
    throw new InvalidInput(`account: ${account} is at the ${known.interface} interface, which delivers no events`);
  return input;
}

async function create(session: Session, input: SubscriptionInput): Promise<number> {
  const before = await session.find(subscriptionId(input)); // only for the wording: the start itself is idempotent
  await session.within(callTimeoutMs, () =>
    session.client.workflow.start('subscription', {
      workflowId: subscriptionId(input),
      taskQueue: session.config.taskQueue,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `Subscription of account ${input.account} to ${input.eventType}`,
    }),
  );
  const warnings = await missingWorkers(session, input.account);
  if (warnings.length === 0) session.note('Waiting up to 30 s for the service to confirm the subscription.');
  const status = await awaitSubscription(session, input, warnings.length === 0 ? inPlaceWithinMs : 0);
  const ingress = await judgeIngress(status?.publicUrl ?? input.publicUrl);
  const result = {
    workflowId: subscriptionId(input),
    state: before?.isOpen ? 'alreadySubscribed' : 'started',
    subscription: status ?? null,
    warnings: [
      ...warnings,
      ...(ingress.result === 'ok' ? [] : [ingress.message]),
      ...(status && status.publicUrl !== input.publicUrl ? [elsewhereText(session, input, status)] : []),
    ],
  };
  const unanswered = 'The subscription has been started, but no worker has answered yet.';
  session.tell(result, status ? subscriptionText(status, session.paint) : unanswered);
  session.warn(result.warnings);
  return isInPlace(input, status) ? exitCodes.done : exitCodes.failed;
}

const lookAgainMs = 500;

/** Waits until the service has confirmed the subscription, or `withinMs` are over. Gives the last status. */
async function awaitSubscription(
  session: Session,
  key: SubscriptionKey,
  withinMs: number,
): Promise<SubscriptionStatus | undefined> {
  const until = Date.now() + withinMs;
  for (;;) {
    const status = await readSubscriptionStatus(session, key);
    if ((status && status.state !== 'subscribing') || Date.now() + lookAgainMs > until) return status;
    await sleep(lookAgainMs);
  }
}

const isInPlace = ({ publicUrl }: SubscriptionInput, status: SubscriptionStatus | undefined): boolean =>
  status?.state === 'active' && status.publicUrl === publicUrl;

function elsewhereText(
  { commandLine }: CommandContext,
  { account, eventType, publicUrl }: SubscriptionInput,
  status: SubscriptionStatus,
): string {
  const move = commandLine('subscription', 'move', account, eventType, '--public-url', publicUrl);
  return `the subscription has another public URL, ${status.publicUrl}; move it with: ${move}`;
}

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
async function change(session: Session, { key, send }: Change): Promise<number> {
  const workflowId = subscriptionId(key);
  const found = await session.find(workflowId);
  if (!found) throw notSubscribed(key, 'does not exist');
  const run = runOf(session.client, workflowId);
  return await sendUpdate(session, {
    isOpen: found.isOpen,
    send: (inTime) => send(run, inTime),
    tell(answer) {
      if ('endedAt' in answer) session.tell({ workflowId, end: answer }, subscriptionEndText(answer, session.paint));
      else session.tell({ workflowId, subscription: answer }, subscriptionText(answer, session.paint));
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
