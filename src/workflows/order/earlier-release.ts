/*
 * What runs of release 0.2.0 do instead of the pending read, and what processes of that release send to any run. Goes
 * with 0.4.0.
 */
import { log, proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watching.js';
import { scheduledAt } from '../../domain/order/trail.js';
import { readSeenChange } from '../../domain/watch.js';
import { joinOptions } from '../activity-options.js';
import { changeSeenSignal, watchedOrderQuery } from '../messages.js';
import { runBeside, setHandler, unless, whenFailed } from '../run-kit.js';
import { watchedOrder } from './reads.js';
import { type Follow, mustContinue } from './state.js';

/** Registers the handlers of messages that a watch of release 0.2.0 sends. Must run before the first await of the run. */
export function listenToEarlierWatch(run: Follow): void {
  const { inbox } = run;
  setHandler(watchedOrderQuery, () => watchedOrder(run));
  setHandler(changeSeenSignal, (seen) => {
    inbox.signals += 1;
    inbox.asked += 1;
    const { streak, unchangedAt } = readSeenChange(seen);
    run.streak = streak;
    run.unchangedAt = unchangedAt ?? run.unchangedAt;
  });
}

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
      const handing = unless(isReplaced, () => watchOrder(watchedOrder(follow)).then(() => true));
      const isTaken = await whenFailed<boolean | undefined>(handing, ({ message }) => {
        log.warn('no worker has taken the order to its watch', { message });
        follow.inbox.asked += 1;
        return false;
      });
      if (isTaken) {
        watched.isTaken = true;
        return;
      }
    }
  }
}
