import { expect, it } from 'vitest';
import { createSilenceActivities, type WatchSilenceInput } from '../../src/activities/subscription.js';
import type { OrderCounts } from '../../src/domain/subscription/silence.js';
import { businessAccount } from '../ride-api/accounts.js';
import { attemptOnce, iso, start } from './temporal.js';

const hour = 3_600_000;
const input = (more: Partial<WatchSilenceInput> = {}): WatchSilenceInput => ({
  account: businessAccount().name,
  eventType: 'status_changed',
  everyMs: hour,
  minOrders: 5,
  openedAt: iso(start - 101 * hour),
  registeredAt: iso(start - 100 * hour),
  isSilent: false,
  tellAgainAt: null,
  ...more,
});

/** One look, with these counts in visibility. */
async function look(counts: OrderCounts, more: Partial<WatchSilenceInput> = {}, wasReset = false) {
  const asked: number[] = [];
  const { watchSilence } = createSilenceActivities({
    async countOrders(_account, startedAfter) {
      asked.push(startedAfter);
      return counts;
    },
    wasReset: async (_run, after) => wasReset && after === start - 101 * hour,
    now: () => start,
    random: () => 0.5,
  });
  const workflowExecution = { workflowId: 'w', runId: 'r' };
  const { seen, error } = await attemptOnce({ workflowExecution }, () => watchSilence(input(more)));
  return { verdict: seen ?? error, asked };
}

const notYet = { type: 'NotYet', category: 'BENIGN', nextRetryDelay: hour * 1.05 };

it('the watch finds silence when enough orders ended and no delivery announced one', async () => {
  const counts = { read: 5, delivered: 0 };
  expect((await look(counts)).verdict).toEqual({ kind: 'silence', isSilent: true, counts });
});

it.each([
  { read: 4, delivered: 0 },
  { read: 100, delivered: 1 },
  { read: 0, delivered: 0 },
])('the watch goes on, as a benign failure, with %j', async (counts) => {
  expect((await look(counts)).verdict).toMatchObject(notYet);
});

it('the first delivery ends the silence', async () => {
  expect((await look({ read: 9, delivered: 1 }, { isSilent: true })).verdict).toMatchObject({ isSilent: false });
  expect((await look({ read: 9, delivered: 0 }, { isSilent: true })).verdict).toMatchObject(notYet);
  expect((await look({ read: 0, delivered: 0 }, { isSilent: true })).verdict).toMatchObject(notYet);
});

it('the watch reports lasting silence again from the given instant on', async () => {
  const counts = { read: 5, delivered: 0 };
  const again = (ms: number) => look(counts, { isSilent: true, tellAgainAt: iso(start + ms) });
  expect((await again(1)).verdict).toMatchObject(notYet);
  expect((await again(0)).verdict).toMatchObject({ isSilent: true });
});

it('the watch counts orders of the last 24 looks, except those older than the address', async () => {
  const none = { read: 0, delivered: 0 };
  expect((await look(none)).asked).toEqual([start - 24 * hour]);
  expect((await look(none, { registeredAt: iso(start - hour) })).asked).toEqual([start - hour + 60_000]);
  expect((await look(none, { registeredAt: iso(start), everyMs: 1_000 })).asked).toEqual([start + 1_000]);
});

it('the watch tells that an operator has reset the run, also of a subscription to reports', async () => {
  const quiet = { read: 9, delivered: 9 };
  for (const eventType of ['status_changed', 'business_report'] as const) {
    expect((await look(quiet, { eventType }, true)).verdict).toEqual({ kind: 'reset' });
    expect((await look(quiet, { eventType })).verdict).toMatchObject(notYet);
  }
  expect((await look(quiet, { eventType: 'business_report' })).asked).toEqual([]);
});
