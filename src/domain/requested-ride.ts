import type { Attention } from './attention.js';
import type { AccountName, OrderId } from './keys.js';
import type { RequestRideInput } from './ride-input.js';
import type { OrderTrail, Outcome } from './trail.js';

/** `requesting`: no order is known yet. `following`: until the order ends. `receipt`: it has ended, its receipt is read. */
export type RideStage = 'requesting' | 'following' | 'receipt' | 'ended';

/** That of the order, or `withdrawn`: cancelled before anything was sent, so there is no order. */
export type RideOutcome = Outcome | 'withdrawn';

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

/** What the service is told to know a repeated create of this ride by. An account holds no ".", so no two rides share it. */
export const rideCallId = ({ account, requestId }: Pick<RideStanding, 'account' | 'requestId'>): string =>
  `ride.${account}.${requestId}`;

/** The attention of a ride whose create may or may not have made an order. `now` is an ISO instant. */
export const outcomeUnknown = (reason: string, now: string): Attention => ({
  code: 'outcomeUnknown',
  message: `${reason} Look at the service whether the order was made, then use resolveRide.`,
  since: now,
});
