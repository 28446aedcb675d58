import { activityInfo } from '@temporalio/activity';
import type { OrderTrail } from '../domain/order/trail.js';
import type { ChangeRideInput } from '../domain/ride/input.js';
import {
  type AwaitFollowedInput,
  type FollowedEnd,
  followedPaceMs,
  type RideStanding,
  type StartFollowingInput,
} from '../domain/ride/ride.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { notYet } from './failures.js';

/** The runs that follow orders, whoever started them. */
export interface FollowedOrders {
  /** Once however often it is asked for. One whose following broke off is followed again; another end stays (I5). */
  start(follow: StartFollowingInput): Promise<void>;
  /** Null while the order is followed. */
  readEnd(key: FollowOrderKey): Promise<FollowedEnd | null>;
  /** The trail after one more read; null when there was none in time, or the run has ended. */
  refresh(key: FollowOrderKey): Promise<OrderTrail | null>;
}

/** What the activities below work with. */
export interface FollowingActivityPorts {
  orders: FollowedOrders;
}

/** The activities that let one run depend on another one that follows an order, as workflows see them. */
export type FollowingActivities = ReturnType<typeof createFollowingActivities>;

/** They call Temporal and no service, so they run beside the token requests. */
export const createFollowingActivities = ({ orders }: FollowingActivityPorts) => ({
  startFollowing: (follow: StartFollowingInput): Promise<void> => orders.start(follow),

  /** Waits for the end of the run by Temporal's own retry, which holds no slot and writes no history. */
  async awaitFollowed({ isEndTold, ...key }: AwaitFollowedInput): Promise<FollowedEnd> {
    const end = await orders.readEnd(key);
    if (end) return end;
    throw notYet(`Order ${key.orderId} is still followed.`, followedPaceMs(isEndTold, activityInfo().attempt));
  },

  refreshFollowed: (key: FollowOrderKey): Promise<OrderTrail | null> => orders.refresh(key),
});

/** One update of a ride, under an id by which the ride knows it when it comes again. */
export interface SentRideChange extends ChangeRideInput {
  updateId: string;
}

/** The runs of rides. */
export interface RequestedRides {
  /** Sends the update, and again for its answer; null while the ride still works on it. Throws its failure for good. */
  change(change: SentRideChange): Promise<RideStanding | null>;
}

/** What the activity works with. */
export interface RideChangeActivityPorts {
  rides: RequestedRides;
}

/** The activity behind `changeRide`, as workflows see it. */
export type RideChangeActivities = ReturnType<typeof createRideChangeActivities>;

const longestPauseMs = 5_000;

/** It calls Temporal and no service, so it runs beside the token requests. */
export const createRideChangeActivities = ({ rides }: RideChangeActivityPorts) => ({
  /** Waits a little at a time, so that many that wait do not fill the slots that a token request needs. */
  async sendRideChange(change: SentRideChange): Promise<RideStanding> {
    const standing = await rides.change(change);
    if (standing) return standing;
    const pauseMs = Math.min(250 * 2 ** activityInfo().attempt, longestPauseMs);
    throw notYet(`Ride ${change.requestId} still works on ${change.change}.`, pauseMs);
  },
});
