import type { RideResult, RideStanding } from '../domain/requested-ride.js';
import { followedAgainText } from '../domain/requested-ride-details.js';
import { requestRideId } from '../domain/workflow-ids.js';
import type { Env } from '../settings/env-reader.js';
import { commandLine } from './command-line.js';
import type { Paint } from './paint.js';
import { plain, toLines, utc } from './plain-text.js';
import { pairsText } from './table.js';
import { trailText } from './trail-view.js';

const head = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>, paint: Paint): string =>
  paint('strong', `Ride ${plain(requestId)} of account ${account}`);

/** Where a ride stands, and what a person can do where one is needed. */
export function standingText(standing: RideStanding, env: Env, paint: Paint): string {
  const { account, requestId, stage, orderId, status, outcome, attention, followedAgain } = standing;
  const pairs: [string, string][] = [
    ['stage', stage],
    ['order', orderId === null ? '-' : plain(orderId)],
    ['status', plain(status ?? '-')],
    ...(outcome === null ? [] : [['outcome', outcome] satisfies [string, string]]),
    ...(followedAgain === undefined
      ? []
      : [['following', plain(followedAgainText(followedAgain))] satisfies [string, string]]),
    ['workflow', plain(requestRideId(standing))],
  ];
  const lines = [head(standing, paint), pairsText(pairs, paint)];
  if (attention === null) return lines.join('\n');
  const resolve = plain(commandLine(env, 'resolve-ride', account, requestId));
  return [
    ...lines,
    paint('bad', `${attention.code} since ${utc(attention.since)} UTC: ${plain(attention.message)}`),
    ...(attention.code === 'outcomeUnknown'
      ? [`  decide    ${resolve} --order ID | --try-again | --give-up REASON`]
      : []),
  ].join('\n');
}

/** How a ride ended: its outcome, the trail of its order and its receipt. */
export function resultText(result: RideResult, paint: Paint): string {
  const { outcome, trail, receipt } = result;
  const ended = `${head(result, paint)}: ${outcome ?? 'ended'}`;
  const bill = receipt === null ? [] : ['', paint('faint', 'receipt'), toLines(JSON.stringify(receipt, null, 2))];
  return [ended, ...(trail === null ? [] : [trailText(trail, paint)]), ...bill].join('\n');
}
