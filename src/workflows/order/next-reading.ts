/*
 * The pending read. From its first reading on, a run always has one activity `nextReading` open. The process with the
 * watch of the account polls the order, and completes the activity when a poll finds something new:
 *
 *   scheduled ── taken by the watch ──> open ── completed ──> recorded ──> scheduled again
 *       |                                         |
 *       no process with the watch for a minute    the run has read another status meanwhile, or cannot read the result
 *       |                                         |
 *       +───────────────> the run reads the order itself <┘ ──> scheduled again
 *
 * If a worker of release 0.2.0 has the watch, `nextReading` fails at once: see `earlier-release.ts`.
 *
 * A poll that finds nothing new costs Temporal nothing. An activity that is open survives its process: the next one
 * completes it by its id, without having seen it.
 */
import { condition, log, proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../../activities/watch/watching.js';
import { isSameStatus } from '../../domain/order/status.js';
import { type NextFinding, readNextFinding, type WatchOrderInput } from '../../domain/watch.js';
import { joinOptions, nextReadingOptions } from '../activity-options.js';
import { runBeside, whenFailed } from '../run-kit.js';
import { isOfEarlierWatch, lendToEarlierWatch } from './earlier-release.js';
import { mustRead, watchedOrder } from './reads.js';
import { type Follow, isOver, mustContinue } from './state.js';

/** About as long as the death of the process with the watch takes to show. A run that gets no watch waits longer each time. */
const firstWaitMs = 60_000;
const longestWaitMs = 600_000;

/** A poll that is under way while the run reads may be older than that read. Its answer comes within this time. */
const slowestPollMs = 60_000;

/** Keeps `nextReading` open from the first reading to the end of the run. `record` gets each finding. */
export function pendReadings(follow: Follow, record: (found: NextFinding) => void): void {
  const { inbox } = follow;
  let waitMs = firstWaitMs;

  async function pend(shown: WatchOrderInput): Promise<void> {
    const pendedAt = Date.now();
    const { nextReading } = proxyActivities<WatchActivities>(nextReadingOptions(shown.account, waitMs));
    let isLent = false;
    const result = await whenFailed<unknown>(nextReading(shown), (failure) => {
      isLent = isOfEarlierWatch(failure);
      if (isLent) return null;
      log.warn('no process polls the order', { message: failure.message });
      waitMs = Math.min(2 * waitMs, longestWaitMs);
      return null;
    });
    if (isOver(follow)) return;
    if (isLent) return await lendToEarlierWatch(follow);
    const found = readNextFinding(result);
    if (found !== null) waitMs = firstWaitMs;
    if (found !== null && !isOutdated(found, pendedAt)) record(found);
    else if (!isKnown(found)) inbox.asked += 1;
  }

  /** May the poll be older than what the run has read itself? */
  function isOutdated({ comparedWith }: NextFinding, pendedAt: number): boolean {
    const { trail, readAt } = follow;
    const hasJustRead = readAt !== null && readAt > Math.max(pendedAt, Date.now() - slowestPollMs);
    return hasJustRead || !isSameStatus(trail.status, comparedWith);
  }

  /** The run has found the same by itself. */
  const isKnown = (found: NextFinding | null): boolean =>
    found?.kind === 'reading' && isSameStatus(found.reading.status, follow.trail.status);

  async function pendUntilOver(): Promise<void> {
    for (;;) {
      // What its own read finds, the run would have to tell the watch anew.
      const isTime = (): boolean => follow.trail.status !== null && !mustRead(follow) && !mustContinue(follow);
      await condition(() => isOver(follow) || isTime());
      if (isOver(follow)) return;
      await pend(watchedOrder(follow));
    }
  }

  runBeside(pendUntilOver());
}

/** A caller has moved the pick-up, on which the pace of polls depends. If the watch misses that, its next finding ends the difference. */
export function tellPickup(follow: Follow): void {
  const { watchOrder } = proxyActivities<WatchActivities>(joinOptions(follow.input.account, firstWaitMs));
  runBeside(whenFailed(watchOrder(watchedOrder(follow)), () => undefined));
}
