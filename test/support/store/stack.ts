import { afterAll } from 'vitest';
import { openStore, type Store } from '../../../src/store/store.js';
import { type OrderStackOptions, useOrderStack } from '../order/stack.js';
import { usePostgres } from './postgres.js';

/** A stack whose worker has a store, which can be used from the tests on. */
export function useStoreStack(options: () => OrderStackOptions = () => ({})) {
  const postgres = usePostgres();
  const opened = {} as { store: Store };
  const stack = useOrderStack(async () => {
    opened.store = openStore(postgres.url);
    await opened.store.rehearse(); // takes longer than a workflow task waits
    return { ...options(), ...opened };
  });
  afterAll(() => opened.store.close());
  return { postgres, opened, stack };
}
