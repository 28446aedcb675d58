import type { Command } from 'commander';
import { InvalidInput } from '../../domain/errors.js';
import { parseSubscriptionInput, type SubscriptionInput } from '../../domain/subscription/input.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { subscriptionId } from '../../domain/workflow-ids.js';
import { type SubscriptionArguments, withSubscriptionArguments } from '../arguments.js';
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
import { ingressWarning } from '../ingress-reachability.js';
import { missingWorkers } from '../workers-alive.js';
import { awaitSubscription, findSubscription } from './run.js';
import { subscriptionText } from './view.js';

interface SubscribeOptions extends CommonOptions {
  publicUrl?: string;
  resubscribe?: boolean;
}

const inPlaceWithinMs = 30_000;

const help = `
Subscribing twice is subscribing once: a running subscription is shown as it is. Waits up to 30 s
until the service has taken it; ends with 1 while it has not, or stands at another public URL.
Without --public-url, FARETRAIL_PUBLIC_URL is taken.

Examples:
  faretrail subscribe business status_changed --public-url https://rides.example
  faretrail subscribe business business_report`;

/** `subscribe <account> <eventType>`: have the service deliver events, once however often it is asked for. */
export function addSubscribeCommand(program: Command, run: RunCommand): void {
  withSubscriptionArguments(program.command('subscribe'))
    .description('have the service deliver events to the ingress')
    .option('--public-url <url>', 'public https base of the ingress')
    .option('--resubscribe', 'subscribe anew when deliveries stay away')
    .addHelpText('after', help)
    .action(
      run<SubscriptionArguments, SubscribeOptions>(async (context, [account, eventType], options) => {
        const publicUrl = options.publicUrl ?? context.loadSettings().publicUrl;
        if (publicUrl === null) throw new InvalidInput('--public-url: missing; give it, or set FARETRAIL_PUBLIC_URL');
        const given = { account, eventType, publicUrl, ...(options.resubscribe ? { resubscribe: true } : {}) };
        const input = parseSubscriptionInput(given); // before any connection
        refusePartner(context, input);
        return await withSession(context, (session) => subscribe(context, session, input));
      }),
    );
}

/** Only where the account is known here; a worker knows all. */
function refusePartner(context: CommandContext, { account }: SubscriptionInput): void {
  const known = context.loadSettings().accounts.find(({ name }) => name === account);
  if (known?.interface === 'partner')
    throw new InvalidInput(`account: ${account} is at the partner interface, which delivers no events`);
}

async function subscribe(context: CommandContext, session: Session, input: SubscriptionInput): Promise<number> {
  const before = await findSubscription(session, input); // only for the wording: the start itself is idempotent
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
  if (warnings.length === 0) context.note('Waiting for the service to take the subscription, up to 30 s.');
  // Without a worker nothing would come of waiting.
  const status = await awaitSubscription(session, input, warnings.length === 0 ? inPlaceWithinMs : 0);
  const ingress = await ingressWarning(status?.publicUrl ?? input.publicUrl);
  const result = {
    workflowId: subscriptionId(input),
    state: before?.isOpen ? 'alreadySubscribed' : 'started',
    subscription: status ?? null,
    warnings: [...warnings, ...(ingress ? [ingress] : []), ...elsewhere(context, input, status)],
  };
  const asked = 'The subscription is asked for, and no worker has answered yet.';
  context.tell(result, status ? subscriptionText(status, context.paint) : asked);
  for (const warning of result.warnings) context.note(`${context.paint('bad', 'warning:')} ${warning}`);
  return isInPlace(input, status) ? exitCodes.done : exitCodes.failed;
}

const isInPlace = ({ publicUrl }: SubscriptionInput, status: SubscriptionStatus | undefined): boolean =>
  status?.state === 'active' && status.publicUrl === publicUrl;

/** One line when the subscription is not where it was asked for. */
function elsewhere(
  { env }: CommandContext,
  { account, eventType, publicUrl }: SubscriptionInput,
  status: SubscriptionStatus | undefined,
): string[] {
  if (status === undefined || status.publicUrl === publicUrl) return [];
  const move = commandLine(env, 'move', account, eventType, '--public-url', publicUrl);
  return [`it stands at another public URL, ${status.publicUrl}; move it with: ${move}`];
}
