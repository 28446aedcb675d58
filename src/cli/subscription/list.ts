import type { AccountName } from '../../domain/keys.js';
import { publishedAddresses } from '../../domain/published.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { fromSubscriptionId, type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { accountOption } from '../arguments.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { exitCodes } from '../failure.js';
import { clip, type Paint, plain, tableText } from '../text.js';
import { listRuns, readEach, runningQuery } from '../visibility.js';
import { readSubscriptionStatus } from './view.js';

const limit = 200;

const help = `
States: active (the service has confirmed it); subscribing (it has not yet, see
the attention); unknown (no worker answers). The list is about a second behind
the runs.`;

/** `subscription list`: the running subscriptions with their states. */
export const addSubscriptionList: AddCommand = (subscription, run) => {
  const examples = ['', '--account business --json'];
  addCommand(subscription, 'list', { does: 'list running subscriptions', examples, more: help })
    .option(...accountOption)
    .action(run(inSession(list)));
};

async function list(session: Session, { account }: { account?: AccountName }) {
  const { found, hasMore } = await listRuns(session, runningQuery('subscription', account), limit);
  const keys = found.flatMap(({ workflowId }) => fromSubscriptionId(workflowId) ?? []);
  const subscriptions = await readEach(keys, (key) => readOne(session, key));
  session.tell({ subscriptions, hasMore }, subscriptionsText(subscriptions, Date.now(), session.paint));
  if (hasMore) session.note(`There are more than ${limit}; narrow the list with --account.`);
  return exitCodes.done;
}

async function readOne(session: Session, key: SubscriptionKey): Promise<ListedSubscription[]> {
  const found = await session.find(subscriptionId(key));
  if (!found?.isOpen) return []; // it ended after the list was made
  const accepted = publishedAddresses(found.memo)?.accepted.map(({ generation }) => generation) ?? [];
  return [toListedSubscription(key, await readSubscriptionStatus(session, key), accepted)];
}

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

/** The list as a table. Ids are not cut, since people copy them. */
export function subscriptionsText(listed: readonly ListedSubscription[], now: number, paint: Paint): string {
  if (listed.length === 0) return 'There is no running subscription.';
  const rows = listed.map((one) => [
    clip(one.account, 16),
    one.eventType,
    paint(one.state === 'active' ? 'good' : 'bad', one.state),
    one.openedAt === null ? '-' : ageText(now - Date.parse(one.openedAt)),
    plain(one.subscriberId ?? '-'),
    one.attention === null ? '-' : paint('bad', clip(one.attention, 20)),
  ]);
  return tableText(['account', 'event type', 'state', 'age', 'subscriber', 'attention'], rows, paint);
}

/** The largest whole unit: `3 d`, `5 h`, `12 min`, `40 s`. */
export function ageText(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ];
  const [unitMs, unit] = units.find(([least]) => ms >= least) ?? [1_000, 's'];
  return `${Math.max(0, Math.floor(ms / unitMs))} ${unit}`;
}
