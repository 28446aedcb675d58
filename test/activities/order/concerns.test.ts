import { describe, expect, it } from 'vitest';
import type { Shown } from '../../../src/activities/order.js';
import type { LookInput } from '../../../src/domain/order/trail.js';
import { LookStage, lookAt, readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, second, start } from '../temporal.js';

/** A look for a run that takes concerns, and shows this one. */
const watchedLook = (more: Partial<LookInput> = {}, concern: NonNullable<LookInput['watched']>['concern'] = null) =>
  lookAt({ watched: { concern, followedSince: iso(start) }, ...more });

const stuck = { code: 'stuckInStatus', since: iso(start + 30 * minute) };

it('a poll shows that an order is stuck with the first read after its time, and makes no event before', async () => {
  const stage = new LookStage(readingOf('Routing'));
  const attempts = await stage.run('observeOrder', watchedLook());
  expect(stage.now).toBeGreaterThanOrEqual(start + 30 * minute);
  expect(stage.now).toBeLessThan(start + 31 * minute);
  expect(attempts.length).toBeGreaterThan(50);
  expect(attempts.at(-1)?.seen).toMatchObject({ kind: 'reading', reading: { status: 'Routing', concern: stuck } });
});

it('a poll finds nothing new while an order stays as stuck as the run shows it', async () => {
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 30 * minute;
  const { length } = await stage.run('observeOrder', watchedLook({}, 'stuckInStatus'));
  expect(length).toBeGreaterThan(50); // an hour, read each minute
  expect(stage.now).toBeGreaterThan(start + 90 * minute);
});

it('a poll sees that the pick-up of a late order was moved, and that it is late no longer', async () => {
  const before = watchedLook({ scheduledAt: iso(start) }, 'latePickup');
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 20 * minute;
  expect((await stage.attempt('observeOrder', before)).failure?.message).toBe('Still Routing.');
  stage.answers = [readingOf('Routing', { scheduledAt: iso(start + 60 * minute) })];
  expect((await stage.attempt('observeOrder', before)).seen).toMatchObject({ reading: { concern: null } });
});

it.each([
  ['a concern that is over', watchedLook({}, 'stuckInStatus'), { status: 'Routing', concern: null }],
  [
    'a concern behind trouble that is over',
    watchedLook({ shown: { rawStatus: 'CareReq', attention: 'forbidden' } }),
    { status: 'CareReq', concern: { code: 'customerCare' } },
  ],
])('a poll has news of %s', async (_, input, reading) => {
  const { seen } = await new LookStage(readingOf(reading.status)).attempt('observeOrder', input);
  expect(seen).toMatchObject({ reading });
});

it.each(['observeOrder', 'readOrder'] as const)(
  '%s tells that customer care has the order together with the status',
  async (name) => {
    const { seen } = await new LookStage(readingOf('care_req')).attempt(name, watchedLook());
    expect(seen).toMatchObject({
      reading: { status: 'CareReq', concern: { code: 'customerCare', since: iso(start) } },
    });
  },
);

it('a one-shot read tells that the order is as stuck as the run shows it', async () => {
  const stage = new LookStage(readingOf('Routing'));
  stage.now += 40 * minute;
  const { seen } = await stage.attempt('readOrder', watchedLook({}, 'stuckInStatus'));
  expect(seen).toMatchObject({ reading: { concern: stuck } });
});

it('an order is not stuck in a status that a read has just found, however long it had the one before', async () => {
  const stage = new LookStage(readingOf('Confirmed'));
  stage.now += 600 * minute;
  const { seen } = await stage.attempt('observeOrder', watchedLook({}, 'stuckInStatus'));
  expect(seen).toMatchObject({ reading: { status: 'Confirmed', concern: null } });
});

it('trouble is shown in spite of a concern', async () => {
  const { seen } = await new LookStage(apiError('FORBIDDEN')).attempt('observeOrder', watchedLook({}, 'customerCare'));
  expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'forbidden' } });
});

it.each([
  ['an order that has ended', watchedLook(), { ...readingOf('CareReq'), terminal: true }],
  ['a run of an earlier release', lookAt(), readingOf('CareReq')],
])('nothing is looked for in the ride of %s', async (_, input, reading) => {
  const { seen } = await new LookStage(reading).attempt('observeOrder', input);
  expect(seen).toEqual({ kind: 'reading', reading, at: iso(start), reads: 1 });
});

it('a poll for a run of an earlier release goes on whatever the ride does', async () => {
  const stage = new LookStage(readingOf('Routing'));
  await stage.run('observeOrder', lookAt({ scheduledAt: iso(start) }));
  expect(stage.now).toBeGreaterThan(start + 60 * minute);
});

describe('the poll of an order whose changes are announced', () => {
  const announced = watchedLook({ pushed: true, shown: { rawStatus: 'Pending', attention: null } });

  /** Since when the run says that it shows the status; an error if it does not answer. */
  async function lookAfter(minutes: number, since: number | Error, input = announced, shown: Partial<Shown> = {}) {
    const stage = new LookStage(readingOf('Routing'));
    stage.shown = { status: 'Routing', concern: null, runLength: 20, ...shown };
    stage.now += minutes * minute;
    stage.since = since instanceof Error ? since : iso(since);
    return await stage.attempt('observeOrder', input);
  }

  it('counts from when the run found the status, which changed after the poll began', async () => {
    const { failure } = await lookAfter(40, start + 20 * minute);
    expect(failure?.message).toBe('Still Routing.');
    const { seen } = await lookAfter(40, start + 5 * minute);
    expect(seen).toMatchObject({ reading: { concern: { ...stuck, since: iso(start + 35 * minute) } } });
  });

  it('compares with the concern that the run shows now, not at the beginning of the poll', async () => {
    const shown = { concern: 'customerCare', status: 'CareReq' } as const;
    const stage = new LookStage(readingOf('CareReq'), readingOf('CareReq'));
    stage.shown = { ...shown, runLength: 20 };
    expect((await stage.attempt('observeOrder', announced)).failure?.message).toBe('Still CareReq.');
    stage.shown = { ...shown, concern: null, runLength: 20 };
    const { seen } = await stage.attempt('observeOrder', announced);
    expect(seen).toMatchObject({ reading: { concern: { code: 'customerCare' } } });
    const cleared = watchedLook({ pushed: true }, 'stuckInStatus');
    expect((await lookAfter(5, start, cleared)).failure?.message).toBe('Still Routing.');
  });

  it('asks the run only where its answer decides', async () => {
    const silent = new Error('no worker');
    expect((await lookAfter(40, silent)).error).toBe(silent);
    expect((await lookAfter(29, silent)).failure?.message).toBe('Still Routing.');
    const shown = { concern: 'stuckInStatus' } as const;
    expect((await lookAfter(40, silent, announced, shown)).failure?.message).toBe('Still Routing.');
    const late = { ...announced, scheduledAt: iso(start + second) };
    expect((await lookAfter(40, silent, late)).seen).toMatchObject({ reading: { concern: { code: 'latePickup' } } });
  });
});
