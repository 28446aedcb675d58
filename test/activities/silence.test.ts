import { expect, it } from 'vitest';
import { createSilenceActivities, type WatchSilenceInput } from '../../src/activities/subscription.js';
import { toOrderId } from '../../src/domain/keys.js';
import { noReliability, type Reliability } from '../../src/domain/subscription/reliability.js';
import type { OrderCounts } from '../../src/domain/subscription/silence.js';
import { businessAccount } from '../ride-api/accounts.js';
import { attemptOnce, iso, start } from './temporal.js';

const hour = 3_600_000;
const input = (more: Partial<WatchSilenceInput> = {}): WatchSilenceInput => ({
  account: businessAccount().name,
  everyMs: hour,
  minOrders: 5,
  registeredAt: iso(start - 100 * hour),
  isSilent: false,
  tellAgainAt: null,
  ...more,
});

/** One look, with these counts in visibility. */
async function look(counts: OrderCounts, more: Partial<WatchSilenceInput> = {}, { ends = 0, attempt = 1 } = {}) {
  const asked: number[] = [];
  const askedEnds: number[] = [];
  const { watchSilence } = createSilenceActivities({
    async countOrders(_account, startedAfter) {
      asked.push(startedAfter);
      return counts;
    },
    async countAnnouncedEnds(_account, endedAfter) {
      askedEnds.push(endedAfter);
      return ends;
    },
    now: () => start,
    random: () => 0.5,
  });
  const info = { attempt, scheduledTimestampMs: start - 2 * hour };
  const { seen, error } = await attemptOnce(info, () => watchSilence(input(more)));
  return { verdict: seen ?? error, asked, askedEnds };
}

const notYet = { type: 'NotYet', category: 'BENIGN', nextRetryDelay: hour * 1.05 };

it('the watch finds silence when enough orders ended and no delivery announced one', async () => {
  const counts = { read: 5, delivered: 0 };
  expect((await look(counts)).verdict).toEqual({ isSilent: true, counts });
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

const endsPerStep = 50;
const held = { ...noReliability(iso(start - 3 * hour)), step: 1, ends: 60, until: iso(start + 20 * hour) };
const none = { read: 0, delivered: 9 };

it('the watch tells how reliable deliveries have become, and no more than that', async () => {
  const proven = (of: Reliability | null, ends: number) =>
    look(none, { reliability: { endsPerStep, held: of } }, { ends }).then(({ verdict }) => verdict);
  expect(await proven(null, 49)).toMatchObject(notYet);
  expect(await proven(null, 50)).toMatchObject({
    isSilent: false,
    reliability: { step: 1, ends: 50, countedAt: iso(start) },
  });
  expect(await proven(held, 99)).toMatchObject(notYet);
  expect(await proven(held, 100)).toMatchObject({ reliability: { step: 2 } });
  expect(await proven(held, 49)).toMatchObject({ reliability: { step: 0 } });
});

it('the watch counts ends since the run records misses, and none within a day after a miss', async () => {
  const asked = async (of: Reliability | null, more: Partial<WatchSilenceInput> = {}) =>
    (await look(none, { ...more, reliability: { endsPerStep, held: of } })).askedEnds;
  expect(await asked(null), 'since this watch began').toEqual([start - 2 * hour]);
  expect(await asked(held)).toEqual([start - 3 * hour]);
  expect(await asked({ ...held, watchedSince: iso(start - 90 * hour) })).toEqual([start - 24 * hour]);
  expect(await asked(held, { registeredAt: iso(start - hour) })).toEqual([start - hour + 60_000]);
  const missed = { orderId: toOrderId('4711'), at: iso(start - 23 * hour) };
  expect(await asked({ ...held, step: 0, missed })).toEqual([]);
});

it('a watch that an earlier release has begun lets the run ask again, but not at once', async () => {
  expect((await look(none)).verdict).toMatchObject(notYet);
  expect((await look(none, {}, { attempt: 2 })).verdict).toEqual({ isSilent: false, counts: none });
});
