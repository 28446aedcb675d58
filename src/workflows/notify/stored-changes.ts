import { isCancellation, log, metricMeter, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { StoreActivities } from '../../activities/store.js';
import type { Notice, NoticeFate } from '../../domain/notify/notice-log.js';
import type { StoredChange } from '../../domain/stored-change.js';

/** For so long a change waits for a store that does not answer. */
const keptForMs = 30 * 86_400_000;
const retry = { initialInterval: 5_000, backoffCoefficient: 2, maximumInterval: 120_000 };

const { recordChangeAtOnce } = proxyLocalActivities<StoreActivities>({
  startToCloseTimeout: 5_000, // only a process that stands still takes so long
  retry: { maximumAttempts: 1 },
  cancellationType: 'TRY_CANCEL',
});

/**
 * Makes a row of a notice: within the workflow task if the store answers at once, otherwise with as many attempts as it takes; then it calls
 * `onLater` first. Null: cancelled.
 */
export async function recordChange(
  { number, at, event }: Notice,
  run: string,
  onLater: () => void,
): Promise<NoticeFate | null> {
  const { type, data } = event as { type: string; data: StoredChange['change'] };
  const change: StoredChange = { run, notice: number, at, type, change: data };
  const { recordChange: record } = proxyActivities<StoreActivities>({
    startToCloseTimeout: 30_000,
    scheduleToCloseTimeout: keptForMs,
    retry,
    summary: `Record change ${number} in the store`,
  });
  try {
    const isAtOnce = await recordChangeAtOnce(change).catch(notRecorded);
    if (!isAtOnce) {
      onLater();
      await record(change);
    }
    count(isAtOnce ? 'atOnce' : 'later');
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error)) return null;
    log.warn('a change was not recorded in the store', { number });
    count('expired');
    return { kind: 'missed', reason: 'expired', why: 'given up after 30 days' };
  }
}

/** Not during replay. */
const count = (outcome: 'atOnce' | 'later' | 'expired'): void =>
  metricMeter
    .createCounter('faretrail_stored_changes', undefined, 'Changes for the store by when they were recorded.')
    .add(1, { outcome });

/** The process stood still. */
function notRecorded(error: unknown): false {
  if (isCancellation(error)) throw error;
  return false;
}
