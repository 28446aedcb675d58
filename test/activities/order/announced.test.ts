import { expect, it } from 'vitest';
import type { Shown } from '../../../src/activities/order.js';
import type { LookInput } from '../../../src/domain/order/trail.js';
import { account, LookStage, lookAt, readingOf } from '../attempts.js';
import { delayOf, iso, minute, second, start } from '../temporal.js';

const proven = { earned: 1, takesMisses: true };
/** Of an order that deliveries announce, and whose run began with it. */
const announced = (more: Partial<LookInput> = {}) =>
  lookAt({ pushed: true, watched: { concern: null, followedSince: iso(start - 2 * minute) }, ...more });
const workflowExecution = { workflowId: 'order/partner/4711', runId: 'r' };

/** A stage whose poll may wait for 25 ms, and whose run shows these, one after the other. */
function stageThat(finds: string, ...shows: Partial<Shown>[]): LookStage {
  const stage = new LookStage(readingOf(finds));
  stage.poll = { ...account.poll, provenMs: 3_000 };
  stage.reliance = proven;
  const run = (): Shown => ({ status: 'Routing', concern: null, runLength: 20, ...shows.shift() });
  Object.defineProperty(stage, 'shown', { get: run });
  return stage;
}
const poll = (stage: LookStage, more: Partial<LookInput> = {}) =>
  stage.attempt('observeOrder', announced(more), { workflowExecution });

it('a poll that finds a change of an announced order waits a moment, then tells it and that its delivery was missed', async () => {
  const stage = stageThat('Driving');
  expect((await poll(stage)).seen).toMatchObject({ kind: 'reading', reading: { status: 'Driving' }, runLength: 20 });
  expect(stage.misses).toEqual(['4711']);
});

it('a delivery that comes in that moment was not missed, and the poll goes on', async () => {
  const stage = stageThat('Driving', {}, { status: 'Driving', runLength: 31 });
  expect((await poll(stage)).failure?.message).toBe('Still Driving.');
  expect(stage.misses).toEqual([]);
});

it('a poll lets the run decide when something has reached it in that moment', async () => {
  const stage = stageThat('Driving', {}, { runLength: 21 });
  expect((await poll(stage)).seen).toMatchObject({ reading: { status: 'Driving' }, runLength: 20 });
  expect(stage.misses).toEqual([]);
});

it.each([
  ['an order that no delivery has announced', { pushed: false }, proven],
  ['a fleet that records no misses', {}, { earned: 0, takesMisses: false }],
])('a poll of %s tells a change at once, and none was missed', async (_, more, reliance) => {
  const stage = stageThat('Driving');
  stage.reliance = reliance;
  expect((await poll(stage, more)).seen).toMatchObject({ reading: { status: 'Driving' } });
  expect(stage.misses).toEqual([]);
});

it('a read that a delivery or a person has asked for misses nothing and waits for nothing', async () => {
  const stage = stageThat('Driving');
  const { seen } = await stage.attempt('readOrder', announced(), { workflowExecution });
  expect(seen).toMatchObject({ reading: { status: 'Driving' } });
  expect(stage.misses).toEqual([]);
});

it('two polls of an announced order are at most ten minutes apart, jitter and grace included, and far fewer than before', async () => {
  for (const random of [0, 0.999]) {
    const stage = new LookStage(readingOf('Driving'));
    Object.assign(stage, { reliance: proven, random, shown: { status: 'Driving', concern: null, runLength: 20 } });
    const everyMs = delayOf(await poll(stage, { shown: { rawStatus: 'Driving', attention: null } }));
    expect(everyMs).toBeGreaterThan(9 * minute);
    expect(everyMs).toBeLessThanOrEqual(10 * minute - 5 * second);
  }
});

it('an order that is stuck is found no later than before, although its deliveries are proven', async () => {
  const stage = new LookStage(readingOf('Routing'));
  stage.reliance = proven;
  const info = { lastReadAt: null, untilMs: 60 * minute, workflowExecution };
  const attempts = await stage.run('observeOrder', announced({ since: iso(start) }), info);
  expect(attempts.at(-1)?.seen).toMatchObject({ reading: { concern: { code: 'stuckInStatus' } } });
  expect(stage.now).toBeGreaterThanOrEqual(start + 30 * minute);
  expect(stage.now).toBeLessThanOrEqual(start + 32 * minute);
  expect(attempts.length).toBeLessThan(8);
});

it('the pace of an order whose status is younger than the poll stays usual where it may be stuck at any time', async () => {
  const stage = new LookStage(readingOf('Waiting'));
  Object.assign(stage, { reliance: proven, shown: { status: 'Waiting', concern: null, runLength: 20 } });
  stage.now += 25 * minute; // the poll has begun in another status: since then `Waiting` may have lasted its 20 minutes
  stage.since = iso(stage.now - minute);
  expect(delayOf(await poll(stage))).toBe(2 * minute);
});
