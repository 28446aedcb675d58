import { activityInfo } from '@temporalio/activity';
import {
  type AwaitFollowedInput,
  type FollowedEnd,
  followedPaceMs,
  type StartFollowingInput,
} from '../domain/following.js';
import type { OrderTrail } from '../domain/trail.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { notYet } from './not-yet.js';

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
