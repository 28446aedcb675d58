import { activityInfo } from '@temporalio/activity';
import type { DeliveryAbout, DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { jitterShare } from '../domain/order/cadence.js';
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
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { notYet } from './failures.js';

// Activities by which one run uses another. They call Temporal and not the service, so they run on the main queue; one needs the account.

/** The runs that follow orders. */
export interface FollowedOrders {
  /** May be repeated. Starts a new run after one that broke off, but not after any other end (I5). */
  start(follow: StartFollowingInput): Promise<void>;
  /** Null while the order is followed. */
  readEnd(key: FollowOrderKey): Promise<FollowedEnd | null>;
  /** The trail after one more read; null if there was none in time, or the run has ended. */
  refresh(key: FollowOrderKey): Promise<OrderTrail | null>;
}

/** What an activity says of a worker that has a store. */
interface StoreAnswer {
  stores: true;
}

/** The activities by which a ride uses the run that follows its order, as workflows see them. */
export type FollowingActivities = ReturnType<typeof createFollowingActivities>;

/** The ports of these activities. */
interface FollowingPorts {
  orders: FollowedOrders;
  /** Are changes recorded in a store? */
  stores: boolean;
  wasReset: WasReset;
}

/** Was the run, or one that it continues, reset after this instant (epoch milliseconds)? */
type WasReset = (run: RunName, after: number) => Promise<boolean>;

/** See `FollowingActivities`. */
export const createFollowingActivities = ({ orders, stores, wasReset }: FollowingPorts) => ({
  /** The answer says whether this worker has a store. */
  async startFollowing(follow: StartFollowingInput): Promise<StoreAnswer | undefined> {
    await orders.start(follow);
    return stores ? { stores } : undefined;
  },

  /** Waits for the end of the run by Temporal's retry, which holds no slot and adds no event, but is billed. */
  async awaitFollowed({ isEndTold, ...key }: AwaitFollowedInput): Promise<FollowedEnd> {
    const end = await orders.readEnd(key);
    if (end) return end;
    throw notYet(`Order ${key.orderId} is still followed.`, followedPaceMs(isEndTold, activityInfo().attempt));
  },

  refreshFollowed: (key: FollowOrderKey): Promise<OrderTrail | null> => orders.refresh(key),

  /** Was the run of a ride or a call ever reset by an operator? Another run of it may then have sent the create. */
  wasRideReset: (): Promise<boolean> => wasReset(runOfActivity(), 0),
});

/** One update of a ride. The ride recognizes a repeated update by its id. */
interface SentRideChange extends ChangeRideInput {
  updateId: string;
}

/** The runs of rides. */
export interface RequestedRides {
  /** Sends the update, or asks again for its answer; null while the ride works on it. Throws its failure as not retryable. */
  change(change: SentRideChange): Promise<RideStanding | null>;
}

/** The activity behind `changeRide`, as workflows see it. */
export type RideChangeActivities = ReturnType<typeof createRideChangeActivities>;

const longestPauseMs = 5_000;

/** See `RideChangeActivities`. */
export const createRideChangeActivities = ({ rides }: { rides: RequestedRides }) => ({
  /** Waits by Temporal's retry, so that many waiting changes do not take the slots of other work. */
  async sendRideChange(change: SentRideChange): Promise<RideStanding> {
    const standing = await rides.change(change);
    if (standing) return standing;
    const pauseMs = Math.min(250 * 2 ** activityInfo().attempt, longestPauseMs);
    throw notYet(`Ride ${change.requestId} still works on ${change.change}.`, pauseMs);
  },
});

/** Sends deliveries to runs, as the ingress does. A failed call may be repeated. */
export interface DeliveryRoutes {
  /** Never starts a run for an order that has ended at the service (I5). */
  toRun(about: DeliveryAbout, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
}

/** The activity that moves deliveries between runs, as workflows see it. */
export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;

/** See `DeliveryActivities`. */
export const createDeliveryActivities = ({ routes }: { routes: DeliveryRoutes }) => ({
  /** Gives a parked delivery to an order, or to the report of one. */
  async handOverDelivery(input: HandOverInput): Promise<DeliveryResult> {
    const { account: _account, orderId: _orderId, ...notice } = input;
    return await routes.toRun(input, [notice]);
  },
});

/** Names a run. */
export interface RunName {
  workflowId: string;
  runId: string;
}

/** What may happen once in the life of a run, whatever an operator resets. */
export interface Claims {
  /**
   * Writes the claim into the history of the run, and says whether it is the first of this name there, and in the runs that it was reset
   * from. Only then may the caller do what it claims. Rejects while Temporal does not answer, or has not recorded the claim.
   */
  take(run: RunName, name: string): Promise<boolean>;
  /** The same for what a run that was reset must not do by itself, but for the update of this id that was sent to it after the reset. */
  takeAsked(run: RunName, name: string, updateId: string | null): Promise<boolean>;
}

/** The run of the activity under way. */
export function runOfActivity(): RunName {
  const { workflowExecution } = activityInfo();
  if (!workflowExecution) throw new Error('this activity belongs to a run');
  return workflowExecution;
}

/** An operator who pauses and resumes an activity may have it tried again, although its run asks for one attempt. */
export function wasTriedBefore(): boolean {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  return attempt > 1 || currentAttemptScheduledTimestampMs > scheduledTimestampMs;
}

/** The activity that notices resets, as workflows see it. */
export type ResetActivities = ReturnType<typeof createResetActivities>;

/** See `ResetActivities`. It uses nothing of an account's request budget. */
export const createResetActivities = ({
  wasReset,
  random = Math.random,
}: {
  wasReset: WasReset;
  random?: () => number;
}) => ({
  /** Completes when an operator has reset the run since it opened its newest address, which it then may not know. Temporal repeats it until then. */
  async watchResets({ everyMs, openedAt }: { everyMs: number; openedAt: string }): Promise<void> {
    // A run that is reset to the end of a request takes that address for new.
    if (await wasReset(runOfActivity(), Date.parse(openedAt))) return;
    throw notYet('The run was not reset.', everyMs * (1 + random() * jitterShare));
  },
});
