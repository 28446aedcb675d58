import { type ActivityOptions, log, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { FollowingActivities } from '../../activities/runs.js';
import { readInstant } from '../../domain/instant.js';
import type { OrderId } from '../../domain/keys.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import { brokenOffAgain, type FollowedEnd, followAgainAfterMs } from '../../domain/ride/ride.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { waitingOptions } from '../activity-options.js';
import { rideOrderChangedSignal } from '../messages.js';
import { unless } from '../run-kit.js';
import { type Ride, setStanding } from './state.js';

const following = (summary: string, options: Pick<ActivityOptions, 'scheduleToCloseTimeout'> = {}) =>
  proxyActivities<FollowingActivities>({ ...waitingOptions, ...options, cancellationType: 'TRY_CANCEL', summary });

/** The order of a ride that has one. */
export const orderKey = ({ standing: { account, orderId } }: Ride): FollowOrderKey => ({
  account,
  orderId: orderId as OrderId,
});

/**
 * Has a run of its own, and not a child, follow the order: a delivery may start that run before the service answers the create. The run
 * goes on even if the ride ends, and it gets the ride as a receiver.
 */
export async function startFollowing(ride: Ride): Promise<void> {
  const { input } = ride;
  const scheduledAt = readInstant(input.order.scheduled_at);
  const me = { workflowId: workflowInfo().workflowId, signal: rideOrderChangedSignal.name };
  const answer = await following(`Follow order ${ride.standing.orderId}`).startFollowing({
    input: {
      ...orderKey(ride),
      reference: input.requestId,
      ...(scheduledAt === undefined ? {} : { scheduledAt }),
    },
    receivers: [me, ...(input.notify ?? [])],
  });
  if (answer?.stores) ride.notifier.addStore(ride);
}

/** Waits for the end of the run that follows the order. Undefined if `mustLeave` became true first. */
export async function awaitEnd(ride: Ride, mustLeave: () => boolean): Promise<FollowedEnd | undefined> {
  for (;;) {
    const { isEndTold, checks } = ride;
    const isNews = (): boolean => mustLeave() || (ride.isEndTold && !isEndTold) || ride.checks > checks;
    const { awaitFollowed } = following('Wait for the end of the order');
    const end = await unless(isNews, () => awaitFollowed({ ...orderKey(ride), isEndTold }));
    if (end !== undefined || mustLeave()) return end;
  }
}

/** Starts another run for the order after one that broke off, since the car may be on its way. Pauses grow. */
export async function followAgain(ride: Ride, { type, message }: { type: string; message: string }): Promise<void> {
  const now = new Date().toISOString();
  const followedAgain = brokenOffAgain(ride.standing.followedAgain, `${type}: ${message}`, now);
  log.warn('the run that followed the order broke off', { type, times: followedAgain.times });
  setStanding(ride, { followedAgain });
  ride.isEndTold = false;
  await sleep(followAgainAfterMs(followedAgain), { summary: 'Until the order is followed again' });
  await startFollowing(ride);
}

/** Has the order read now, to see a change at once. Null if there is no quick answer; the run reads the order anyway. */
export async function refreshOrder(ride: Ride): Promise<OrderTrail | null> {
  try {
    const { refreshFollowed } = following('Read the order after a change', { scheduleToCloseTimeout: 20_000 });
    return await refreshFollowed(orderKey(ride));
  } catch {
    return null; // the change succeeded, so its caller gets no failure
  }
}
