import { describe, expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import type { Run } from './runs.js';
import { ids, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const hour = 60 * minute;
/** An order whose run began two hours ago and found the status a minute ago. */
const young: Partial<Run> = { followedSince: start - 2 * hour, since: start - minute };

/** A stage with runs of which the watch knows nothing yet. */
function before(runs: Record<string, Partial<Run>>): WatchStage {
  const stage = new WatchStage();
  for (const [orderId, run] of Object.entries(runs)) stage.begin(orderId, run);
  return stage;
}

const told = ({ findings, hints }: WatchStage): number => findings.length + hints.length;

describe('a watch that takes orders over from visibility', () => {
  it('polls them at once, and then each at its pace, and asks each run once for a pick-up that the service does not name', async () => {
    const stage = before({ 1: {}, 2: {} });
    await stage.adopt();
    await pass(21 * second);
    expect(stage.times('1')).toEqual([0, 10, 20]);
    expect(stage.times('2').map(Math.round)).toEqual([0, 10, 20]);
    expect([stage.shownAsks, stage.fullAsks, told(stage)]).toEqual([[], ['1', '2'], 0]);
  });

  it('polls them in another order than the one before, or the same ones would come last after each take-over', async () => {
    const places = [0.1, 0.9, 0.5];
    const stage = new WatchStage({ random: () => places.shift() ?? 0 });
    for (const orderId of ids(3)) stage.begin(orderId, {});
    await stage.adopt();
    await pass(second);
    expect(stage.asked.map(({ orderId }) => orderId)).toEqual(['1', '2', '0']);
  });

  it('tells nothing where only visibility knows too little, and asks the run once', async () => {
    const stage = before({ 1: young }); // two hours of `Routing` would be too long
    await stage.adopt();
    await pass(10 * minute);
    expect([told(stage), stage.fullAsks]).toEqual([0, ['1']]);
  });

  it('learns the pick-up of a reserved order from its run, once, where the service names none', async () => {
    const stage = before({ 1: { ...young, status: 'Reserved', scheduledAt: iso(start + 31 * minute) } });
    stage.answer = readingOf('Reserved');
    await stage.adopt();
    await pass(90 * second);
    expect([stage.fullAsks, told(stage)]).toEqual([['1'], 0]);
    expect(stage.times('1').slice(0, 3)).toEqual([0, 60, 70]);
  });

  it('asks no run for the pick-up that the service names', async () => {
    const stage = before({ 1: { ...young, status: 'Reserved' } });
    stage.answer = readingOf('Reserved', { scheduledAt: iso(start + 31 * minute) });
    await stage.adopt();
    await pass(90 * second);
    expect([stage.fullAsks, told(stage), stage.times('1').slice(0, 3)]).toEqual([[], 0, [0, 60, 70]]);
  });

  it('asks runs no more often than it may, and tells nothing of orders whose run it has not asked', async () => {
    const stage = before(Object.fromEntries(ids(50).map((id) => [id, young])));
    stage.mayAsk = false;
    await stage.adopt();
    await pass(minute);
    expect([stage.fullAsks.length, told(stage)]).toEqual([0, 0]);
    stage.mayAsk = true;
    await pass(2 * minute);
    expect(new Set(stage.fullAsks).size).toBe(50);
    expect([stage.fullAsks.length, told(stage)]).toEqual([50, 0]);
  });

  it('tells a change that happened meanwhile, since an instant that it does not know', async () => {
    const stage = before({ 1: young });
    stage.service.set('1', readingOf('Driving'));
    stage.readAfterMs = second;
    await stage.adopt();
    await pass(10 * minute);
    expect(stage.findings).toMatchObject([{ at: start, found: { kind: 'reading', unchangedAt: null } }]);
    expect([stage.hints, stage.shownAsks, stage.fullAsks]).toEqual([[], [], []]);
  });

  it('still finds that an order is stuck', async () => {
    const stage = before({ 1: { ...young, since: start - 40 * minute } });
    stage.readAfterMs = second;
    await stage.adopt();
    await pass(10 * minute);
    expect(told(stage)).toBe(1);
    expect(stage.runs.get('1')?.attention).toBe('stuckInStatus');
  });
});

describe('an order that visibility lists no more', () => {
  /** After the list, ten minutes after the order was added; its run has ended. */
  async function listedAgain(settledAt?: number) {
    const stage = new WatchStage();
    stage.handOver(['1', '2']);
    await pass(10 * minute);
    stage.change('1');
    await stage.adopt(['2'], settledAt);
    return stage;
  }

  it('is dropped if its run has ended', async () => {
    const stage = await listedAgain();
    expect([stage.polls.size, stage.shownAsks]).toEqual([1, ['1']]);
    const polls = await stage.polledWithin(minute);
    expect(new Set(polls.map(({ orderId }) => orderId))).toEqual(new Set(['2']));
  });

  it('is kept, without a question, while it is so new that it may not be listed yet', async () => {
    const stage = await listedAgain(start - 1);
    expect([stage.polls.size, stage.shownAsks]).toEqual([2, []]);
  });

  it('is kept when a new run of it hands it over meanwhile', async () => {
    const stage = new WatchStage();
    stage.handOver('1');
    await pass(10 * minute);
    stage.change('1');
    stage.shownAfterMs = 2 * second;
    const adopting = stage.adopt([]);
    await pass(second);
    stage.handOver('1');
    await pass(2 * second);
    await adopting;
    expect(stage.polls.size).toBe(1);
  });
});
