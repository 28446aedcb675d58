import { expect, it } from 'vitest';
import { createStoreActivities } from '../../src/activities/store.js';
import type { StoredChange } from '../../src/domain/stored-change.js';

const change = { run: 'run', notice: 1 } as StoredChange;
const never = { record: () => new Promise<never>(() => undefined) };
const refusing = { record: async () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })) };

it('a change is recorded within the workflow task if the store answers', async () => {
  const recorded: StoredChange[] = [];
  const store = { record: async (one: StoredChange) => void recorded.push(one) };
  expect(await createStoreActivities({ store }).recordChangeAtOnce(change)).toBe(true);
  expect(recorded).toEqual([change]);
});

it('a store that hangs holds a workflow task for half a second, and no other for ten seconds', async () => {
  let now = 1_000_000;
  const { recordChangeAtOnce } = createStoreActivities({ store: never, now: () => now });
  const startedAt = performance.now();
  expect(await recordChangeAtOnce(change)).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  now += 9_999;
  const begun = performance.now();
  expect(await recordChangeAtOnce(change)).toBe(false);
  expect(performance.now() - begun).toBeLessThan(200);
  now += 1;
  const again = performance.now();
  await recordChangeAtOnce(change);
  expect(performance.now() - again).toBeGreaterThan(400);
});

it.each([
  ['does not answer', refusing, 'The store does not take the change (ECONNREFUSED).'],
  ['is not set here', 'none' as const, 'This worker has no FARETRAIL_STORE_URL; another one may have it.'],
])('a change waits while the store %s', async (_, store, message) => {
  const { recordChangeAtOnce, recordChange } = createStoreActivities({ store });
  expect(await recordChangeAtOnce(change)).toBe(false);
  await expect(recordChange(change)).rejects.toMatchObject({ message, type: 'StoreUnavailable', nonRetryable: false });
});

it('a change is dropped where there is no store any more', async () => {
  const { recordChangeAtOnce, recordChange } = createStoreActivities({ store: 'off' });
  expect(await recordChangeAtOnce(change)).toBe(true);
  await recordChange(change);
});
