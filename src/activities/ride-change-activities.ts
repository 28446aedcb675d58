import { activityInfo } from '@temporalio/activity';
import type { RideStanding } from '../domain/requested-ride.js';
import type { ChangeRideInput } from '../domain/ride-change.js';
import { notYet } from './not-yet.js';

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
