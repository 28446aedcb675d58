import { expect, it } from 'vitest';
import { aPoll, aRead, LookStage, readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, start } from '../temporal.js';

const stuck = { code: 'stuckInStatus', since: iso(start + 30 * minute) };

it('a poll ends when an order becomes stuck, and the read after it says so', async () => {
  const stage = new LookStage(readingOf('Routing'));
  const attempts = await stage.run(aPoll());
  expect(stage.now).toBeGreaterThanOrEqual(start + 30 * minute);
  expect(stage.now).toBeLessThan(start + 31 * minute);
  expect(attempts.length).toBeGreaterThan(50);
  expect(attempts.at(-1)?.seen).toMatchObject({ reads: attempts.length, struggle: null });
  const { seen } = await stage.attempt(aRead());
  expect(seen).toMatchObject({ kind: 'reading', reading: { status: 'Routing', concern: stuck } });
});

it('a poll that asks now and then what the run shows still finds out how long an announced order has stood still', async () => {
  const stage = new LookStage(readingOf('Routing'));
  await stage.run(aPoll({ pushed: true }));
  expect(stage.asks).toBeGreaterThan(1);
  expect(stage.now).toBeLessThan(start + 33 * minute);
});

it('a poll finds nothing new while an order stays as stuck as the run shows it', async () => {
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 30 * minute;
  const { length } = await stage.run(aPoll({ attention: 'stuckInStatus' }));
  expect(length).toBeGreaterThan(50); // an hour, read each minute
  expect(stage.now).toBeGreaterThan(start + 90 * minute);
});

it('a poll sees that the pick-up of a late order was moved', async () => {
  const late = aPoll({ scheduledAt: iso(start), attention: 'latePickup' });
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 20 * minute;
  expect((await stage.attempt(late)).failure?.message).toBe('Still Routing.');
  stage.answers = [readingOf('Routing', { scheduledAt: iso(start + 60 * minute) })];
  expect((await stage.attempt(late)).seen).toMatchObject({ struggle: null });
});

it.each([
  ['a concern that is over', { attention: 'stuckInStatus' }, 'Routing'],
  ['a concern that begins', { rawStatus: 'CareReq' }, 'CareReq'],
] as const)('a poll has news of %s', async (_, more, word) => {
  expect((await new LookStage(readingOf(word)).attempt(aPoll(more))).seen).toMatchObject({ struggle: null });
});

it('a read tells that customer care has the order together with the status', async () => {
  const { seen } = await new LookStage(readingOf('care_req')).attempt(aRead());
  const concern = { code: 'customerCare', since: iso(start) };
  expect(seen).toMatchObject({ reading: { status: 'CareReq', concern } });
});

it('a read tells that the order is as stuck as the run shows it', async () => {
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 40 * minute;
  const { seen } = await stage.attempt(aRead({ attention: 'stuckInStatus' }));
  expect(seen).toMatchObject({ reading: { concern: stuck } });
});

it('an order is not stuck in a status that a read has just found, however long it had the one before', async () => {
  const stage = new LookStage(readingOf('Confirmed'));
  stage.now += 600 * minute;
  const { seen } = await stage.attempt(aRead({ attention: 'stuckInStatus' }));
  expect(seen).toMatchObject({ reading: { status: 'Confirmed', concern: null } });
});

it('trouble is shown in spite of a concern', async () => {
  const { seen } = await new LookStage(apiError('FORBIDDEN')).attempt(aRead({ attention: 'customerCare' }));
  expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'forbidden' } });
});

it('nothing is looked for in the ride of an order that has ended', async () => {
  const reading = { ...readingOf('CareReq'), terminal: true };
  const { seen } = await new LookStage(reading).attempt(aRead());
  expect(seen).toEqual({ kind: 'reading', reading: { ...reading, concern: null }, at: iso(start), reads: 1 });
});
