import { ApplicationFailure } from '@temporalio/common';
import type { StoredChange } from '../domain/stored-change.js';

/** Where a worker records changes. `none`: its settings name no store. `off`: there shall be none any more. */
export type StorePort = { record(change: StoredChange): Promise<void> } | 'none' | 'off';

export interface StoreActivityPorts {
  store: StorePort;
}

export type StoreActivities = ReturnType<typeof createStoreActivities>;

/** Records changes of orders in the store. */
export const createStoreActivities = ({ store }: StoreActivityPorts) => ({
  /** Completes once the change is recorded. Temporal repeats it while the store does not answer. */
  async recordChange(change: StoredChange): Promise<void> {
    if (store === 'off') return;
    if (store === 'none') throw unavailable('This worker has no FARETRAIL_STORE_URL; another one may have it.');
    await store.record(change).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw unavailable(`The store does not take the change${code}.`);
    });
  },
});

const unavailable = (message: string): ApplicationFailure => ApplicationFailure.retryable(message, 'StoreUnavailable');
