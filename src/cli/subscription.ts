import { setTimeout as sleep } from 'node:timers/promises';
import type { Workflow } from '@temporalio/client';
import { actsForCompany } from '../domain/account.js';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { publishedAddresses } from '../domain/published.js';
import type { GenerationStatus, SubscriptionEnd, SubscriptionStatus } from '../domain/subscription/status.js';
import {
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  type SubscriptionInput,
} from '../domain/subscription/subscription.js';
import { fromSubscriptionId, type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import { type CallOptions, type Run, runOf } from '../temporal/runs.js';
import {
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  subscriptionStatusQuery,
} from '../workflows/messages.js';
import { accountOption, checked, publicUrlOption, reasonOption, toDurationMs } from './arguments.js';
import {
  type AddCommand,
  addCommand,
  type CommandContext,
  callTimeoutMs,
  queryTimeoutMs,
  reading,
  type Session,
} from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { listing, listRuns, runningQuery } from './lists.js';
import { judgeIngress, missingWorkers } from './processes.js';
import { attentionText, sendUpdate } from './runs.js';
import { type Columns, type Paint, type Pair, pairsText, plain, rowsText, utc } from './text.js';

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
  return await sendUpdate(session, {
    found,
    send: (inTime) => send(runOf(session.client, workflowId), inTime),
    tell(answer) {
      if ('endedAt' in answer) session.tell({ workflowId, end: answer }, subscriptionEndText(answer, session.paint));
      else session.tell({ workflowId, subscription: answer }, subscriptionText(answer, session.paint));
    },
    tellEnded: () => Promise.reject(notSubscribed(key, 'has ended')),
  });
}

const notSubscribed = ({ account, eventType }: SubscriptionKey, why: string): CliFailure =>
  new CliFailure(
    'NotSubscribed',
    `the subscription of account ${account} to ${eventType} ${why}; create it with: faretrail subscription create ${account} ${eventType}`,
  );

const limit = 200;

const listHelp = `
States: active (the service has confirmed it); subscribing (it has not yet, see
the attention); unknown (no worker answers). The list is about a second behind
the runs.`;

/** One subscription of the list. */
export interface ListedSubscription extends SubscriptionKey {
  /** `unknown`: no worker answered. */
  state: SubscriptionStatus['state'] | 'unknown';
  publicUrl: string | null;
  /** The current address, else the newest. */
  generation: string | null;
  /** ISO instant. */
  openedAt: string | null;
  subscriberId: string | null;
  attention: string | null;
  /** How many addresses the ingress accepts now. */
  accepted: number;
}

/** What the list shows: the status, else what the memo says. A generation is its time of opening in base 36. */
export function toListedSubscription(
  { account, eventType }: SubscriptionKey,
  status: SubscriptionStatus | undefined,
  accepted: readonly string[],
): ListedSubscription {
  const { generations = [], publicUrl = null, state = 'unknown', attention = null } = status ?? {};
  const shown = generations.find((one) => one.state === 'current') ?? generations[0];
  const generation = shown?.generation ?? accepted[0] ?? null;
  return {
    account,
    eventType,
    state,
    publicUrl,
    generation,
    openedAt: shown?.openedAt ?? (generation === null ? null : new Date(Number.parseInt(generation, 36)).toISOString()),
    subscriberId: shown?.subscriberId ?? null,
    attention: attention?.code ?? null,
    accepted: accepted.length,
  };
}

/** The list of subscriptions. Ids are not cut, since people copy them. */
export const subscriptionColumns: Columns<ListedSubscription> = {
  account: ({ account }) => account,
  'event type': ({ eventType }) => eventType,
  state: ({ state }) => state,
  'opened (UTC)': ({ openedAt }) => utc(openedAt),
  subscriber: ({ subscriberId }) => subscriberId,
  attention: ({ attention }) => attention,
};

/** `subscription list`: the running subscriptions with their states. */
export const addSubscriptionList: AddCommand = (subscription, run) => {
  const examples = ['', '--account business --json'];
  addCommand(subscription, 'list', { does: 'list running subscriptions', examples, more: listHelp })
    .option(...accountOption)
    .action(run(listSubscriptions));
};

const listSubscriptions = listing({
  name: 'subscriptions',
  empty: 'There is no running subscription.',
  columns: subscriptionColumns,
  find: (session, { account }: { account?: AccountName }) =>
    listRuns(session, { query: runningQuery('subscription', account), limit }, async ({ workflowId, memo }) => {
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
export function subscriptionText(status: SubscriptionStatus, paint: Paint): string {
  const head = paint('strong', `Subscription of account ${status.account} to ${status.eventType}`);
  const pairs: Pair[] = [
    ['state', paint(status.state === 'active' ? 'good' : 'bad', status.state)],
    ['public URL', plain(status.publicUrl)],
    ['attention', status.attention && attentionText(status.attention, paint)],
  ];
  const { generations } = status;
  const addresses = generations.length > 0 ? ['', rowsText(generationColumns, generations, paint)] : [];
  return [head, pairsText(pairs, paint), ...addresses, ...stillRegisteredLines(status)].join('\n');
}

const generationColumns: Columns<GenerationStatus> = {
  generation: ({ generation }) => generation,
  state: ({ state }) => state,
  subscriber: ({ subscriberId }) => subscriberId,
  'created (UTC)': ({ createdAt }) => utc(createdAt),
  'opened (UTC)': ({ openedAt }) => utc(openedAt),
  'until (UTC)': ({ until }) => utc(until),
};

const stillRegisteredLines = ({ stillRegistered }: { stillRegistered: string[] }): string[] =>
  stillRegistered.length === 0
    ? []
    : ['', `Refused by the ingress, but still registered at the service: ${stillRegistered.map(plain).join(', ')}`];

/** How a subscription ended. */
export function subscriptionEndText(end: SubscriptionEnd, paint: Paint): string {
  const lines = [
    paint('strong', `Ended the subscription of account ${end.account} to ${end.eventType}`),
    `The ingress has refused deliveries to its addresses since ${utc(end.endedAt)} UTC.`,
    ...(end.removed.length > 0 ? [`Removed at the service: ${end.removed.map(plain).join(', ')}`] : []),
    ...(end.unclear > 0
      ? [`Requests with an unknown outcome: ${end.unclear}; the service may still deliver to them.`]
      : []),
  ];
  return [...lines, ...stillRegisteredLines(end)].join('\n');
}
