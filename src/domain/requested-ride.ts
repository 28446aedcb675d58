import type { Attention } from './attention.js';
import { shownText } from './json-text.js';
import type { AccountName, OrderId } from './keys.js';
import type { RequestRideInput } from './ride-input.js';
import type { OrderTrail, Outcome } from './trail.js';

/** `requesting`: no order is known yet. `following`: until the order ends. `receipt`: it has ended, its receipt is read. */
export type RideStage = 'requesting' | 'following' | 'receipt' | 'ended';

/** That of the order, or `withdrawn`: cancelled before anything was sent, so there is no order. */
export type RideOutcome = Outcome | 'withdrawn';

/** The run that followed the order broke off, so the ride has the order followed again. */
export interface FollowedAgain {
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
