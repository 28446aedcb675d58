import type { Attention } from '../attention.js';
import { shownText } from '../json.js';
import type { AccountName, OrderId } from '../keys.js';
import { cell } from '../markdown.js';
import type { Notify } from '../notify/receivers.js';
import type { FollowOrderInput } from '../order/input.js';
import type { OrderTrail, Outcome } from '../order/trail.js';
import { type FollowOrderKey, followOrderId } from '../workflow-ids.js';
import type { RequestRideInput } from './input.js';

/** `requesting`: no order is known yet. `following`: until the order ends. `receipt`: it has ended, its receipt is read. */
type RideStage = 'requesting' | 'following' | 'receipt' | 'ended';

/** That of the order, or `withdrawn`: cancelled before anything was sent, so there is no order. */
type RideOutcome = Outcome | 'withdrawn';

/** The run that followed the order broke off, so the ride has the order followed again. */
interface FollowedAgain {
  /** In a row; an hour without one ends the row. */
  times: number;
  /** ISO instant of the last one. */
  at: string;
  /** The type of its failure, and its message. */
  reason: string;
}

/** Answer of the query `rideStatus` and of every update of a ride. */
export interface RideStanding {
  account: AccountName;
  requestId: string;
  stage: RideStage;
  /** Null until the service has named it. */
  orderId: OrderId | null;
  /** The status of the order, as `followOrder` last told it. */
  status: string | null;
  outcome: RideOutcome | null;
  /** `outcomeUnknown`: a person must find out whether an order was made. */
  attention: Attention | null;
  /** Absent while nothing has happened to the run that follows the order. */
  followedAgain?: FollowedAgain;
}

/** Result of `requestRide`. `orderId` and `trail` are null only with the outcome `withdrawn`. */
export interface RideResult {
  account: AccountName;
  requestId: string;
  orderId: OrderId | null;
  outcome: RideOutcome | null;
  trail: OrderTrail | null;
  /** As it was read last; null when none was wanted, or none came in time. */
  receipt: Record<string, unknown> | null;
}

/** A ride of which nothing has been sent yet. */
export const openRide = ({ account, requestId }: RequestRideInput): RideStanding => ({
  account,
  requestId,
  stage: 'requesting',
  orderId: null,
  status: null,
  outcome: null,
  attention: null,
});

const rowEndsAfterMs = 3_600_000;
const firstPauseMs = 1_000;
const longestPauseMs = 600_000;
const maxReason = 300;

/** What is known of the run that follows the order once it broke off again. `now` is an ISO instant. */
export function brokenOffAgain(before: FollowedAgain | undefined, reason: string, now: string): FollowedAgain {
  const isRow = before !== undefined && Date.parse(now) - Date.parse(before.at) < rowEndsAfterMs;
  return { times: isRow ? before.times + 1 : 1, at: now, reason: shownText(reason.slice(0, maxReason)) };
}

/** How long to wait before the order is followed again: whatever broke off the run may do so again at once. */
export const followAgainAfterMs = ({ times }: FollowedAgain): number =>
  Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs);

/** What the service is told to know a repeated create of this ride by. An account holds no ".", so no two rides share it. */
export const rideCallId = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `ride.${account}.${requestId}`;

/** The attention of a ride whose create may or may not have made an order. `now` is an ISO instant. */
export const outcomeUnknown = (reason: string, now: string): Attention => ({
  code: 'outcomeUnknown',
  message: `${reason} Look at the service whether the order was made, then use resolveRide.`,
  since: now,
});

/** What makes an order be followed, by whichever run does it. */
export interface StartFollowingInput {
  /** Counts only where nobody follows the order yet. */
  input: FollowOrderInput;
  /** Told of changes, also by a run that is there already. */
  receivers: Notify[];
}

/** What waits for the end of the run that follows an order. */
export interface AwaitFollowedInput extends FollowOrderKey {
  /** The run has told of its end, so it closes any moment. */
  isEndTold: boolean;
}

/** How the run that followed an order ended. `type` is that of its failure; `NotFollowed`: somebody ended the run. */
export type FollowedEnd = { kind: 'trail'; trail: OrderTrail } | { kind: 'failed'; type: string; message: string };

/** The run of an order tells each change by a signal, so this only finds what no signal tells: a run that failed. */
export function followedPaceMs(isEndTold: boolean, attempt: number): number {
  if (isEndTold) return Math.min(100 * 2 ** attempt, 60_000);
  return attempt === 1 ? 5_000 : 60_000;
}

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
    .map((way) => `- \`faretrail ride resolve ${account} ${requestId} ${way}\``)
    .join('\n');
  return [
    head,
    ...order,
    ...broken,
    `**Attention: ${attention.code}** since ${since} UTC: ${cell(attention.message, maxMessage)}`,
    ...(attention.code === 'outcomeUnknown' ? [commands] : []),
  ].join('\n\n');
}
