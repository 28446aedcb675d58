import { setTimeout as sleep } from 'node:timers/promises';
import { actsForCompany } from '../../domain/account.js';
import { InvalidInput } from '../../domain/errors.js';
import { parseSubscriptionInput, type SubscriptionInput } from '../../domain/subscription/input.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { type AddCommand, addCommand, type CommandContext, callTimeoutMs, reading, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { judgeIngress } from '../ingress-reachability.js';
import { missingWorkers } from '../workers-alive.js';
import { readSubscriptionStatus, subscriptionText } from './view.js';

interface CreateGiven extends SubscriptionKey {
  publicUrl?: string;
  resubscribe?: boolean;
}

const inPlaceWithinMs = 30_000;

const help = `
Creating it twice changes nothing: a running subscription is shown as it is. The
command waits up to 30 s for the service to confirm it. It ends with 1 when the
service has not, or when the subscription has another public URL.`;

/** `subscription create <account> <eventType>`: have the service deliver events, once however often the caller repeats it. */
export const addCreate: AddCommand = (subscription, run) => {
  const does = 'have the service deliver events to the ingress';
  const examples = ['business status_changed --public-url https://rides.example', 'business business_report'];
  addCommand(subscription, 'create <account> <eventType>', { does, examples, more: help })
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

async function create(context: CommandContext, session: Session, input: SubscriptionInput): Promise<number> {
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
  if (warnings.length === 0) context.note('Waiting up to 30 s for the service to confirm the subscription.');
  const status = await awaitSubscription(session, input, warnings.length === 0 ? inPlaceWithinMs : 0);
  const ingress = await judgeIngress(status?.publicUrl ?? input.publicUrl);
  const result = {
    workflowId: subscriptionId(input),
    state: before?.isOpen ? 'alreadySubscribed' : 'started',
    subscription: status ?? null,
    warnings: [
      ...warnings,
      ...(ingress.result === 'ok' ? [] : [ingress.message]),
      ...(status && status.publicUrl !== input.publicUrl ? [elsewhereText(context, input, status)] : []),
    ],
  };
  const unanswered = 'The subscription has been started, but no worker has answered yet.';
  context.tell(result, status ? subscriptionText(status, context.paint) : unanswered);
  context.warn(result.warnings);
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
