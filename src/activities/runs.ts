import { activityInfo } from '@temporalio/activity';
import type { DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import type { EarlierRun, EarlierRunKey } from '../domain/order/earlier-run.js';
import type { OrderTrail } from '../domain/order/trail.js';
import type { HandOverInput } from '../domain/parked.js';
import type { ChangeRideInput } from '../domain/ride/input.js';
import {
  type AwaitFollowedInput,
  type FollowedEnd,
  followedPaceMs,
  type RideStanding,
  type StartFollowingInput,
} from '../domain/ride/ride.js';
import type { CompanyReportKey, FollowOrderKey } from '../domain/workflow-ids.js';
import { notYet } from './failures.js';

// Activities by which one run asks another. They call Temporal and no service, so they run beside the token requests.

/** The runs that follow orders, whoever started them. */
export interface FollowedOrders {
  /** Once however often it is asked for. One whose following broke off is followed again; another end stays (I5). */
  start(follow: StartFollowingInput): Promise<void>;
  /** Null while the order is followed. */
  readEnd(key: FollowOrderKey): Promise<FollowedEnd | null>;
  /** The trail after one more read; null when there was none in time, or the run has ended. */
  refresh(key: FollowOrderKey): Promise<OrderTrail | null>;
}

/** The activities that let one run depend on another one that follows an order, as workflows see them. */
export type FollowingActivities = ReturnType<typeof createFollowingActivities>;

/** See `FollowingActivities`. */
export const createFollowingActivities = ({ orders }: { orders: FollowedOrders }) => ({
  startFollowing: (follow: StartFollowingInput): Promise<void> => orders.start(follow),

  /** Waits for the end of the run by Temporal's own retry, which holds no slot and writes no history. */
  async awaitFollowed({ isEndTold, ...key }: AwaitFollowedInput): Promise<FollowedEnd> {
    const end = await orders.readEnd(key);
    if (end) return end;
    throw notYet(`Order ${key.orderId} is still followed.`, followedPaceMs(isEndTold, activityInfo().attempt));
  },

  refreshFollowed: (key: FollowOrderKey): Promise<OrderTrail | null> => orders.refresh(key),
});

/** Asks a run that has ended what it leaves. Null when it is not known any more, or cannot say. Throws while Temporal cannot be asked. */
export type EarlierRunReader = (key: EarlierRunKey) => Promise<EarlierRun | null>;

/** The activity that lets a run go on from an earlier one, as workflows see it. */
export type EarlierRunActivities = ReturnType<typeof createEarlierRunActivities>;

/** See `EarlierRunActivities`. */
export const createEarlierRunActivities = ({ readRun }: { readRun: EarlierRunReader }) => ({
  readEarlierRun: (key: EarlierRunKey): Promise<EarlierRun | null> => readRun(key),
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

/** The activity behind `changeRide`, as workflows see it. */
export type RideChangeActivities = ReturnType<typeof createRideChangeActivities>;

const longestPauseMs = 5_000;

/** See `RideChangeActivities`. */
export const createRideChangeActivities = ({ rides }: { rides: RequestedRides }) => ({
  /** Waits a little at a time, so that many that wait do not fill the slots that a token request needs. */
  async sendRideChange(change: SentRideChange): Promise<RideStanding> {
    const standing = await rides.change(change);
    if (standing) return standing;
    const pauseMs = Math.min(250 * 2 ** activityInfo().attempt, longestPauseMs);
    throw notYet(`Ride ${change.requestId} still works on ${change.change}.`, pauseMs);
  },
});

/** Where deliveries go, as the ingress sends them too. A call that rejects may be repeated without harm. */
export interface DeliveryRoutes {
  /** Never starts an order again that has ended at the service (I5). */
  toOrder(key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
  toReport(key: CompanyReportKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
}

/** The activity that moves deliveries between runs, as workflows see it. */
export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;

/** See `DeliveryActivities`. */
export const createDeliveryActivities = ({ routes }: { routes: DeliveryRoutes }) => ({
  /** Gives a parked delivery to an order, or to the report of one. */
  async handOverDelivery(input: HandOverInput): Promise<DeliveryResult> {
    const { account, orderId, eventType, deliveryId, receivedAt } = input;
    const deliveries: DeliveryNotice[] = [{ deliveryId, eventType, receivedAt }];
    switch (eventType) {
      case 'status_changed':
        return await routes.toOrder({ account, orderId }, deliveries);
      case 'business_report':
        return await routes.toReport({ account, about: orderId }, deliveries);
    }
  },
});
