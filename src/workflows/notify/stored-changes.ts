import { isCancellation, log, metricMeter, proxyActivities } from '@temporalio/workflow';
import type { StoreActivities } from '../../activities/store.js';
import type { Notice, NoticeFate } from '../../domain/notify/notice-log.js';
import type { StoredChange } from '../../domain/stored-change.js';

/** For so long a change waits for a store that does not answer. */
const keptForMs = 30 * 86_400_000;
const retry = { initialInterval: 5_000, backoffCoefficient: 2, maximumInterval: 120_000 };

/** Makes a row of a notice, with as many attempts as it takes. Null: cancelled. */
export async function recordChange({ number, at, event }: Notice, run: string): Promise<NoticeFate | null> {
  const { type, data } = event as { type: string; data: StoredChange['change'] };
  const { recordChange: record } = proxyActivities<StoreActivities>({
    startToCloseTimeout: 30_000,
    scheduleToCloseTimeout: keptForMs,
    retry,
    summary: `Record change ${number} in the store`,
  });
  try {
    await record({ run, notice: number, at, type, change: data });
    count('recorded');
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error)) return null;
    log.warn('a change was not recorded in the store', { number });
    count('expired');
    return { kind: 'missed', reason: 'expired', why: 'given up after 30 days' };
  }
}

/** Not during replay. */
const count = (outcome: 'recorded' | 'expired'): void =>
  metricMeter
    .createCounter('faretrail_stored_changes', undefined, 'Changes for the store by what became of them.')
    .add(1, { outcome });
