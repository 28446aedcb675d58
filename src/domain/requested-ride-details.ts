import type { FollowedAgain, RideStanding } from './requested-ride.js';
import { cell } from './trail-details.js';
import { followOrderId } from './workflow-ids.js';

const maxMessage = 300;

const stageTexts: Record<RideStanding['stage'], string> = {
  requesting: 'is being ordered',
  following: 'is followed',
  receipt: 'has ended, its receipt is read',
  ended: 'has ended',
};

/** "broke off at ... UTC, the 2nd time in a row, ..." as the end of a sentence about the following of the order. */
export const followedAgainText = ({ times, at, reason }: FollowedAgain): string =>
  `broke off at ${at.slice(0, 19).replace('T', ' ')} UTC${times === 1 ? '' : `, ${times} times in a row`}, and was begun again. ${reason}`;

/** A ride as Markdown for the Temporal UI: where it stands, where its order is followed, and what a person can do. */
export function describeRide(ride: RideStanding): string {
  const { account, requestId, stage, orderId, status, outcome, attention, followedAgain } = ride;
  const head = [
    `The ride **${stageTexts[stage]}**`,
    ...(status === null ? [] : [`status **${cell(status)}**`]),
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
  ].join(', ');
  const order =
    orderId === null
      ? []
      : [`Order ${cell(orderId, 128)}, followed by \`${cell(followOrderId({ account, orderId }), 200)}\``];
  const broken =
    followedAgain === undefined
      ? []
      : [`The following of the order ${cell(followedAgainText(followedAgain), maxMessage)}`];
  if (attention === null) return [head, ...order, ...broken].join('\n\n');
  const since = cell(attention.since.slice(0, 19).replace('T', ' '));
  const commands = ['--order ID', '--try-again', '--give-up REASON']
    .map((way) => `- \`faretrail resolve-ride ${account} ${requestId} ${way}\``)
    .join('\n');
  return [
    head,
    ...order,
    ...broken,
    `**Attention: ${attention.code}** since ${since} UTC: ${cell(attention.message, maxMessage)}`,
    ...(attention.code === 'outcomeUnknown' ? [commands] : []),
  ].join('\n\n');
}
