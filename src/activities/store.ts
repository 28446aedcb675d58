import { setTimeout as pause } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type { StoredChange } from '../domain/stored-change.js';

/** Where a worker records changes. `none`: its settings name no store. `off`: there shall be none any more. */
export type StorePort = { record(change: StoredChange): Promise<void> } | 'none' | 'off';

export interface StoreActivityPorts {
  store: StorePort;
  now?: () => number;
}

export type StoreActivities = ReturnType<typeof createStoreActivities>;

/** A workflow task waits for it. */
const atOnceWithinMs = 500;
/** After that failed, changes are recorded beside the workflow tasks for a while. */
const restMs = 10_000;

/** Records changes of orders in the store. */
export function createStoreActivities({ store, now = Date.now }: StoreActivityPorts) {
  let notBefore = 0;
  return {
    /** A local activity of the run. False: not known to be recorded, so the run has to call `recordChange`. */
    async recordChangeAtOnce(change: StoredChange): Promise<boolean> {
      if (store === 'off') return true;
      if (store === 'none' || now() < notBefore) return false;
      const recorded = store.record(change).then(
        () => true,
        () => false,
      );
      const isRecorded = await Promise.race([recorded, pause(atOnceWithinMs, false)]);
      if (!isRecorded) notBefore = now() + restMs;
      return isRecorded;
    },

    /** Completes once the change is recorded. Temporal repeats it while the store does not answer. */
    async recordChange(change: StoredChange): Promise<void> {
      if (store === 'off') return;
      if (store === 'none') throw unavailable('This worker has no FARETRAIL_STORE_URL; another one may have it.');
      await store.record(change).catch((error: unknown) => {
        const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
        throw unavailable(`The store does not take the change${code}.`);
      });
    },
  };
}

const unavailable = (message: string): ApplicationFailure => ApplicationFailure.retryable(message, 'StoreUnavailable');
