import type { SubscriptionEnd, SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { runOf } from '../../temporal/runs.js';
import { subscriptionStatusQuery } from '../../workflows/messages.js';
import { queryTimeoutMs, type Session } from '../command.js';
import { attentionLine } from '../order/show.js';
import { type Paint, type Pair, pairsText, plain, tableText, utc } from '../text.js';

/** What the run answers; undefined when no worker does. */
export const readSubscriptionStatus = (
  { client }: Session,
  key: SubscriptionKey,
): Promise<SubscriptionStatus | undefined> =>
  runOf(client, subscriptionId(key))
    .query(subscriptionStatusQuery, { withinMs: queryTimeoutMs })
    .catch(() => undefined);

/** One subscription with its addresses, for a terminal. Never a path or a secret. */
export function subscriptionText(status: SubscriptionStatus, paint: Paint): string {
  const head = paint('strong', `Subscription of account ${status.account} to ${status.eventType}`);
  const pairs: Pair[] = [
    ['state', paint(status.state === 'active' ? 'good' : 'bad', status.state)],
    ['public URL', plain(status.publicUrl)],
  ];
  const rows = status.generations.map(({ generation, state, openedAt, until, subscriberId, createdAt }) => [
    generation,
    state,
    plain(subscriberId ?? '-'),
    utc(createdAt),
    utc(openedAt),
    utc(until),
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
