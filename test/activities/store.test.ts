import { expect, it } from 'vitest';
import { createStoreActivities } from '../../src/activities/notify.js';
import { createFollowingActivities } from '../../src/activities/runs.js';
import type { StoredChange } from '../../src/domain/notify/notices.js';
import { callOf, createCallStage, refusal, reply } from './call/attempts.js';

const change = { run: 'run', notice: 1 } as StoredChange;
const refusing = { record: async () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })) };

it('a change is recorded once', async () => {
  const recorded: StoredChange[] = [];
  await createStoreActivities({ store: { record: async (one) => void recorded.push(one) } }).recordChange(change);
  expect(recorded).toEqual([change]);
});

it.each([
  ['does not answer', refusing, 'The store does not take the change (ECONNREFUSED).'],
  ['is not set here', 'none' as const, 'This worker has no FARETRAIL_STORE_URL; another one may have it.'],
])('a change waits while the store %s', async (_, store, message) => {
  const { recordChange } = createStoreActivities({ store });
  await expect(recordChange(change)).rejects.toMatchObject({ message, type: 'StoreUnavailable', nonRetryable: false });
});

it('a change is dropped where there is no store any more', async () => {
  await createStoreActivities({ store: 'off' }).recordChange(change);
});

it.each([true, false])('an attempt of a create tells whether the worker has a store: %s', async (stores) => {
  const stage = createCallStage(
    [reply(200, { id: 'o-1', status: 'Pending' }), refusal(422, 'NO', 'no')],
    {},
    { stores },
  );
  for (const number of [1, 2]) {
    const { end } = await stage.change(callOf('createOrder'), undefined, number);
    expect(Object.hasOwn(end ?? {}, 'stores')).toBe(stores);
  }
});

it.each([true, false])('a worker says at the start of the following whether it has a store: %s', async (stores) => {
  const orders = { start: async () => undefined, readEnd: async () => null, refresh: async () => null };
  const { startFollowing } = createFollowingActivities({ orders, stores, wasReset: async () => false });
  expect(await startFollowing({} as never)).toEqual(stores ? { stores } : undefined);
});
