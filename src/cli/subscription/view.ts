import type { SubscriptionEnd, SubscriptionStatus } from '../../domain/subscription/status.js';
import type { SubscriptionKey } from '../../domain/workflow-ids.js';
import { attentionLine } from '../order/show.js';
import type { Paint } from '../text.js';
import { clip, pairsText, plain, tableText, utc } from '../text.js';

/** One subscription with its addresses, for a terminal. Never a path or a secret. */
export function subscriptionText(status: SubscriptionStatus, paint: Paint): string {
  const head = paint('strong', `Subscription of account ${status.account} to ${status.eventType}`);
  const pairs: [string, string][] = [
    ['state', paint(status.state === 'active' ? 'good' : 'bad', status.state)],
    ['public URL', plain(status.publicUrl)],
  ];
  const rows = status.generations.map(({ generation, state, openedAt, until, subscriberId, createdAt }) => [
    generation,
    state,
    plain(subscriberId ?? '-'),
    createdAt === null ? '-' : utc(createdAt),
    utc(openedAt),
    until === null ? '-' : utc(until),
  ]);
  const columns = ['generation', 'state', 'subscriber', 'created (UTC)', 'opened (UTC)', 'until (UTC)'];
  return [
    head,
    pairsText(pairs, paint),
    ...(status.attention ? [attentionLine(status.attention, paint)] : []),
    ...(rows.length > 0 ? ['', tableText(columns, rows, paint)] : []),
    ...stillRegisteredLines(status),
  ].join('\n');
}

const stillRegisteredLines = ({ stillRegistered }: { stillRegistered: string[] }): string[] =>
  stillRegistered.length === 0
    ? []
    : ['', `Refused here, but still registered at the service: ${stillRegistered.map(plain).join(', ')}`];

/** How a subscription ended. */
export function subscriptionEndText(end: SubscriptionEnd, paint: Paint): string {
  const lines = [
    paint('strong', `Ended: account ${end.account} takes no ${end.eventType} any more`),
    `The ingress refuses all its addresses since ${utc(end.endedAt)} UTC.`,
    ...(end.removed.length > 0 ? [`Removed at the service: ${end.removed.map(plain).join(', ')}`] : []),
    ...(end.unclear > 0
      ? [`Requests with an unknown outcome: ${end.unclear}; the service may still deliver to them.`]
      : []),
  ];
  return [...lines, ...stillRegisteredLines(end)].join('\n');
}

/** One subscription of the list. */
export interface ListedSubscription extends SubscriptionKey {
  /** `unknown`: no worker answered. */
  state: SubscriptionStatus['state'] | 'unknown';
  publicUrl: string | null;
  /** The newest address that is in force, else the newest. */
  generation: string | null;
  /** ISO instant. */
  openedAt: string | null;
  subscriberId: string | null;
  attention: string | null;
  /** How many addresses the ingress accepts now. */
  accepted: number;
}

/** What the list shows of a status; without one, of the memo. A generation is its time in base 36. */
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

/** The list as a table. Ids stay whole, since people copy them. */
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
