import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateDefinition } from '@temporalio/common';
import { monotonicMs } from '../clock.js';
import { actsForCompany } from '../domain/account.js';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { publishedAddresses } from '../domain/published.js';
import type { GenerationStatus, SubscriptionEnd, SubscriptionStatus } from '../domain/subscription/status.js';
import {
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  type SubscriptionInput,
} from '../domain/subscription/subscription.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import { fromSubscriptionId, type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { priorityOf } from '../temporal/starts.js';
import { listRuns, runsQuery } from '../temporal/visibility.js';
import {
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  subscriptionStatusQuery,
} from '../workflows/messages.js';
import { accountOption, option, reasonOption, required, toDurationMs } from './arguments.js';
import { type Act, type CommandContext, listing, type Noun, queryTimeoutMs, reading, type Session } from './command.js';
import { judgeIngress } from './doctor.js';
import { CliFailure, exitCodes } from './failure.js';
import { startingRun } from './known-account.js';
import { attentionText, missingWorkers, sendUpdate } from './runs.js';
import { type Columns, cardText, paint, plain, rowsText, utc } from './text.js';

const createHelp = `
Creating it twice changes nothing: a running subscription is shown as it is. The
command waits up to 30 s for the service to confirm it. It ends with 1 when the
service has not, or when the subscription has another public URL.`;

const listHelp = `
States: active (the service has confirmed it); subscribing (it has not yet, see
the attention); unknown (no worker answers). The list is about a second behind
the runs.`;

const graceOption = () =>
  option('--grace <duration>', 'how long the old address is accepted: 90s, 24h, or 0 (default: a day)', toDurationMs);

/** `subscription …` */
export const subscriptionCommands: Noun = {
  noun: 'subscription',
  does: 'have the service deliver events to the ingress',
  verbs: [
    startingRun({
      form: 'create <account> <eventType>',
      does: 'have the service deliver events to the ingress',
      examples: ['business status_changed --public-url https://rides.example', 'business business_report'],
      more: createHelp,
      options: [
        option('--public-url <url>', 'public https base of the ingress (default: FARETRAIL_PUBLIC_URL)'),
        option('--resubscribe', 'subscribe again by itself when deliveries stop coming'),
      ],
      act: reading(toInput, create),
    }),
    {
      form: 'list',
      does: 'list running subscriptions',
      examples: ['', '--account business --json'],
      more: listHelp,
      options: [accountOption()],
      act: (context, given: { account?: AccountName }) => listSubscriptions(context, given),
    },
    {
      form: 'rotate <account> <eventType>',
      does: 'give a subscription a new path and secret',
      examples: ['business status_changed --grace 30m'],
      options: [graceOption()],
      act: changing(rotateSubscriptionUpdate, ({ grace: graceMs }) => parseRotateInput({ graceMs })),
    },
    {
      form: 'move <account> <eventType>',
      does: 'have a subscription deliver to another public URL',
      examples: ['business status_changed --public-url https://rides.example'],
      options: [required(option('--public-url <url>', 'public https base of the ingress')), graceOption()],
      act: changing(moveSubscriptionUpdate, ({ publicUrl, grace: graceMs }) => parseMoveInput({ publicUrl, graceMs })),
    },
    {
      form: 'end <account> <eventType>',
      does: 'end a subscription: the ingress refuses its deliveries',
      examples: ['business status_changed --reason "moved away"'],
      options: [reasonOption().default('ended by hand')],
      act: changing(endSubscriptionUpdate, ({ reason = '' }) => ({ reason })),
    },
  ],
};

interface CreateGiven extends SubscriptionKey {
  publicUrl?: string;
  resubscribe?: boolean;
}

const inPlaceWithinMs = 30_000;

function toInput(given: CreateGiven, context: CommandContext): SubscriptionInput {
  const { account, eventType, publicUrl = context.loadSettings(context.env).publicUrls[0], resubscribe } = given;
  if (publicUrl === undefined) throw new InvalidInput('--public-url: missing; give it, or set FARETRAIL_PUBLIC_URL');
  const input = parseSubscriptionInput({ account, eventType, publicUrl, ...(resubscribe ? { resubscribe } : {}) });
  // A worker checks accounts that are not in these settings.
  const known = context.loadSettings(context.env).accounts.find(({ name }) => name === account);
  if (known && !actsForCompany[known.interface])
    throw new InvalidInput(`account: ${account} is at the ${known.interface} interface, which delivers no events`);
  if (known && isLoopbackAddress(input.publicUrl) && !isLoopbackAddress(known.baseUrl))
    throw new InvalidInput(
      `--public-url: the service cannot reach ${input.publicUrl}; give the https address of the ingress, or set FARETRAIL_PUBLIC_URL`,
    );
  return input;
}

async function create(session: Session, input: SubscriptionInput): Promise<number> {
  const { account, eventType, publicUrl } = input;
  const workflowId = subscriptionId(input);
  const before = await session.find(workflowId); // only for the wording: the start itself is idempotent
  await session.inTime(() =>
    session.client.workflow.start('subscription', {
      workflowId,
      taskQueue: session.config.taskQueue,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      priority: priorityOf(account),
      staticSummary: `Subscription of account ${account} to ${eventType}`,
    }),
  );
  const warnings = await missingWorkers(session, account);
  if (warnings.length === 0) session.note('Waiting up to 30 s for the service to confirm the subscription.');
  const status = await awaitSubscription(session, input, warnings.length === 0 ? inPlaceWithinMs : 0);
  const ingress = await judgeIngress(status?.publicUrl ?? publicUrl);
  if (ingress.result !== 'ok') warnings.push(ingress.message);
  if (status && status.publicUrl !== publicUrl) {
    const move = session.commandLine('subscription', 'move', account, eventType, '--public-url', publicUrl);
    warnings.push(`the subscription has another public URL, ${status.publicUrl}; move it with: ${move}`);
  }
  const unanswered = 'The subscription has been started, but no worker has answered yet.';
  session.tell(
    { workflowId, state: before?.isOpen ? 'alreadySubscribed' : 'started', subscription: status ?? null, warnings },
    status ? subscriptionText(status, session.table) : unanswered,
  );
  session.warn(warnings);
  return status?.state === 'active' && status.publicUrl === publicUrl ? exitCodes.done : exitCodes.failed;
}

const lookAgainMs = 500;

/** Waits until the service has confirmed the subscription, or `withinMs` are over. Gives the last status. */
async function awaitSubscription(session: Session, key: SubscriptionKey, withinMs: number) {
  const until = monotonicMs() + withinMs;
  for (;;) {
    const status = await readSubscriptionStatus(session, key);
    if ((status && status.state !== 'subscribing') || monotonicMs() + lookAgainMs > until) return status;
    await sleep(lookAgainMs);
  }
}

interface ChangeGiven extends SubscriptionKey {
  grace?: number;
  publicUrl?: string;
  reason?: string;
}

/** Sends an update to the running subscription and shows the answer. Throws `CliFailure` NotSubscribed, NoWorker, NoAnswer. */
function changing<Input>(
  update: UpdateDefinition<SubscriptionStatus | SubscriptionEnd, [Input]>,
  toInput: (given: ChangeGiven) => Input,
): Act<ChangeGiven> {
  const read = (given: ChangeGiven) => ({ key: given, input: toInput(given) });
  return reading(read, async (session, { key, input }) => {
    const workflowId = subscriptionId(key);
    return await sendUpdate(session, {
      found: await session.get(workflowId, notSubscribed(key, 'does not exist')),
      send: (inTime) => runOf(session.client, workflowId).update(update, [input], inTime),
      tell(answer) {
        if ('endedAt' in answer) session.tell({ workflowId, end: answer }, subscriptionEndText(answer));
        else session.tell({ workflowId, subscription: answer }, subscriptionText(answer, session.table));
        return exitCodes.done;
      },
      tellEnded: () => Promise.reject(notSubscribed(key, 'has ended')),
    });
  });
}

const notSubscribed = ({ account, eventType }: SubscriptionKey, why: string): CliFailure =>
  new CliFailure(
    'NotSubscribed',
    `the subscription of account ${account} to ${eventType} ${why}; create it with: faretrail subscription create ${account} ${eventType}`,
  );

/** What the list shows of a subscription: its status, undefined where no worker answered, else what the memo says. */
export function toListedSubscription(
  { account, eventType }: SubscriptionKey,
  status: SubscriptionStatus | undefined,
  accepted: readonly string[],
) {
  const { generations = [], publicUrl = null, state = 'unknown', attention = null } = status ?? {};
  const shown = generations.find((one) => one.state === 'current') ?? generations[0];
  const generation = shown?.generation ?? accepted[0] ?? null;
  // A generation is its time of opening in base 36.
  const openedAt = generation === null ? null : new Date(Number.parseInt(generation, 36)).toISOString();
  const subscriberId = shown?.subscriberId ?? null;
  return {
    ...{ account, eventType, state, publicUrl, generation, subscriberId },
    openedAt: shown?.openedAt ?? openedAt,
    signedIn: shown?.verified?.header ?? null,
    attention: attention?.code ?? null,
    accepted: accepted.length,
  };
}

/** The list of subscriptions. Ids are not cut, since people copy them. */
export const subscriptionColumns: Columns<ReturnType<typeof toListedSubscription>> = {
  ...{ account: 'account', 'event type': 'eventType', state: 'state' },
  ...{ 'opened (UTC)': 'openedAt', subscriber: 'subscriberId', 'signed in': 'signedIn', attention: 'attention' },
};

const limit = 200;

const listSubscriptions = listing({
  name: 'subscriptions',
  empty: 'There is no running subscription.',
  columns: subscriptionColumns,
  find: (session, { account }: { account?: AccountName }) =>
    listRuns(session, runsQuery('subscription', { account, running: true }), limit, async ({ workflowId, memo }) => {
      const key = fromSubscriptionId(workflowId);
      if (!key) return []; // the id is not ours, so this run fails by itself
      const accepted = publishedAddresses(memo)?.accepted.map(({ generation }) => generation) ?? [];
      return [toListedSubscription(key, await readSubscriptionStatus(session, key), accepted)];
    }),
});

/** What the run answers; undefined when no worker does. */
const readSubscriptionStatus = ({ client }: Session, key: SubscriptionKey): Promise<SubscriptionStatus | undefined> =>
  runOf(client, subscriptionId(key))
    .query(subscriptionStatusQuery, { withinMs: queryTimeoutMs })
    .catch(() => undefined);

/** One subscription with its addresses, for a terminal. Never a path or a secret. */
export function subscriptionText(status: SubscriptionStatus, table: CommandContext['table'] = rowsText): string {
  const { account, eventType, state, publicUrl, attention, generations } = status;
  const card = cardText(`Subscription of account ${account} to ${eventType}`, [
    ['state', paint(state === 'active' ? 'good' : 'bad', state)],
    ['public URL', plain(publicUrl)],
    ['attention', attention && attentionText(attention)],
  ]);
  const addresses = generations.length > 0 ? ['', table(generationColumns, generations)] : [];
  return [card, ...addresses, ...stillRegisteredLines(status)].join('\n');
}

const generationColumns: Columns<GenerationStatus> = {
  ...{ generation: 'generation', state: 'state', subscriber: 'subscriberId' },
  ...{ 'created (UTC)': 'createdAt', 'opened (UTC)': 'openedAt', 'until (UTC)': 'until' },
  'signed in': ({ verified }) => verified?.header ?? null,
};

const stillRegisteredLines = ({ stillRegistered }: { stillRegistered: string[] }): string[] =>
  stillRegistered.length === 0
    ? []
    : ['', `Refused by the ingress, but still registered at the service: ${stillRegistered.map(plain).join(', ')}`];

/** How a subscription ended. */
export function subscriptionEndText(end: SubscriptionEnd): string {
  const { account, eventType, endedAt, removed, unclear } = end;
  const lines = [
    paint('strong', `Ended the subscription of account ${account} to ${eventType}`),
    `The ingress has refused deliveries to its addresses since ${utc(endedAt)} UTC.`,
  ];
  if (removed.length > 0) lines.push(`Removed at the service: ${removed.map(plain).join(', ')}`);
  if (unclear > 0) lines.push(`Requests with an unknown outcome: ${unclear}; the service may still deliver to them.`);
  return [...lines, ...stillRegisteredLines(end)].join('\n');
}
