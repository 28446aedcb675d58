import type { SubscriptionEnd, SubscriptionStatus } from '../../domain/subscription/status.js';
import { attentionLine } from '../order/show.js';
import type { Paint } from '../text.js';
import { pairsText, plain, tableText, utc } from '../text.js';

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
