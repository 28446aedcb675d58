import { ActivityFailure, isCancellation, log, proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watching.js';
import { type OrderLook, scheduledAt } from '../../domain/order/trail.js';
import type { WatchOrderInput } from '../../domain/watch.js';
import { joinOptions } from '../activity-options.js';
import { runBeside, unless } from '../run-kit.js';
import { type Follow, mustContinue } from './state.js';

/** What the run shows of the order to the activities that look at it. */
export const shownBy = ({ input, trail, startedAt }: Follow): OrderLook => ({
  ...{ account: input.account, orderId: input.orderId },
  ...{ rawStatus: trail.rawStatus, attention: trail.attention?.code ?? null, since: trail.since },
  scheduledAt: scheduledAt(input, trail),
  followedSince: startedAt,
});

/** What the watch of the account must know of the order. */
export const watchedOrder = (follow: Follow): WatchOrderInput => ({ ...shownBy(follow), pushed: follow.trail.pushed });

/** How long the order waits for a worker with the watch: at first about as long as a worker's death takes to show. */
const firstWaitMs = 60_000;
const longestWaitMs = 600_000;

/**
 * Hands the order to the watch of the account, which polls it from now on; again when its pick-up has moved, on which the pace depends.
 * A read starts the watch. If no worker takes the order all the same, the run reads again: a slow poll, until one does.
 */
export function joinWatch(follow: Follow): void {
  const pickup = scheduledAt(follow.input, follow.trail);
  if (follow.trail.status === null || follow.watched?.scheduledAt === pickup) return;
  const watched = { scheduledAt: pickup, isTaken: follow.watched?.isTaken ?? false };
  follow.watched = watched;
  runBeside(handOver());

  async function handOver(): Promise<void> {
    const isReplaced = (): boolean => follow.watched !== watched;
    for (
      let waitMs = firstWaitMs;
      !isReplaced() && !mustContinue(follow);
      waitMs = Math.min(2 * waitMs, longestWaitMs)
    ) {
      const { watchOrder } = proxyActivities<WatchActivities>(joinOptions(follow.input.account, waitMs));
      try {
        watched.isTaken = (await unless(isReplaced, () => watchOrder(watchedOrder(follow)).then(() => true))) ?? false;
        return;
      } catch (error) {
        if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
        log.warn('no worker has taken the order to its watch', { message: error.message });
        follow.inbox.asked += 1;
      }
    }
  }
}
