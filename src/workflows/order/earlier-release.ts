/*
 * What runs of release 0.2.0 do instead of the pending read, and what processes of that release send to any run. Goes
 * with 0.4.0.
 */
import { type ActivityFailure, ApplicationFailure, log, proxyActivities, sleep } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watching.js';
import { scheduledAt } from '../../domain/order/trail.js';
import { readSeenChange } from '../../domain/watch.js';
import { joinOptions, unknownActivity } from '../activity-options.js';
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

/** Then the run tries `nextReading` again. Until then a later watch polls the order, too: it lists all at its start. */
const lentForMs = 300_000;

/** Does a worker of release 0.2.0, which lacks `nextReading`, hold the watch? */
export const isOfEarlierWatch = ({ cause }: ActivityFailure): boolean =>
  cause instanceof ApplicationFailure && cause.type === unknownActivity;

/**
 * Hands the order to a watch of release 0.2.0, which polls it and sends `changeSeen`; resolves when it is time to try
 * `nextReading` again. Otherwise that watch would first find the order in a list, up to eight minutes later.
 */
export async function lendToEarlierWatch(follow: Follow): Promise<void> {
  const { watchOrder } = proxyActivities<WatchActivities>(joinOptions(follow.input.account, firstWaitMs));
  const handing = watchOrder(watchedOrder(follow)).then(() => true);
  const isTaken = await whenFailed(handing, ({ message }) => {
    log.warn('no worker has taken the order to its watch', { message });
    follow.inbox.asked += 1;
    return false;
  });
  if (isTaken) await sleep(lentForMs, { summary: 'A worker of release 0.2.0 polls the order' });
}
