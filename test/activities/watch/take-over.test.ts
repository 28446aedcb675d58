import { describe, expect, it } from 'vitest';
import type { WatchPulse } from '../../../src/domain/watch.js';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import type { Run } from './runs.js';
import { ids, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const hour = 60 * minute;
/** An order whose run began two hours ago and found the status a minute ago. */
const young: Partial<Run> = { followedSince: start - 2 * hour, since: start - minute };
/** The same, and the run is of release 0.2.0. */
const youngEarlier: Partial<Run> = { ...young, isEarlier: true };

/** A stage with runs of which the watch knows nothing yet. */
function before(runs: Record<string, Partial<Run>>): WatchStage {
  const stage = new WatchStage();
  for (const [orderId, run] of Object.entries(runs)) stage.begin(orderId, run);
  return stage;
}

const told = ({ findings, hints }: WatchStage): number => findings.length + hints.length;

describe('a watch that takes orders over from visibility', () => {
  it('polls them at once, and then each at its pace, and asks no run', async () => {
    const stage = before({ 1: {}, 2: young });
    await stage.adopt();
    await pass(21 * second);
    expect(stage.times('1')).toEqual([0, 10, 20]);
    expect(stage.times('2').map(Math.round)).toEqual([0, 10, 20]);
    expect([stage.shownAsks, stage.fullAsks, told(stage)]).toEqual([[], [], 0]);
  });

  it('knows the pick-up of a reserved order that the service does not name', async () => {
    const stage = before({ 1: { ...young, status: 'Reserved', scheduledAt: iso(start + 31 * minute) } });
    stage.answer = readingOf('Reserved');
    await stage.adopt();
    await pass(90 * second);
    expect([stage.fullAsks, told(stage), stage.times('1').slice(0, 3)]).toEqual([[], 0, [0, 60, 70]]);
  });

  it('asks no run of an announced order, unless the service shows something else', async () => {
    const stage = before({ 1: { ...young, pushed: true } });
    await stage.adopt();
    await pass(11 * minute);
    expect([stage.times('1'), stage.shownAsks]).toEqual([[0, 300, 600], []]);
    stage.service.set('1', readingOf('Driving'));
    stage.readAfterMs = second;
    await pass(5 * minute);
    expect([stage.shownAsks, stage.findings.length]).toEqual([['1'], 1]);
  });

  it('polls them in another order than the one before, or the same ones would come last after each take-over', async () => {
    const places = [0.1, 0.9, 0.5];
    const stage = new WatchStage({ random: () => places.shift() ?? 0 });
    for (const orderId of ids(3)) stage.begin(orderId, {});
    await stage.adopt();
    await pass(second);
    expect(stage.asked.map(({ orderId }) => orderId)).toEqual(['1', '2', '0']);
  });

  it('tells nothing where visibility knows too little of a run of release 0.2.0, and asks the run once', async () => {
    const stage = before({ 1: youngEarlier }); // two hours of `Routing` would be too long
    await stage.adopt();
    await pass(10 * minute);
    expect([told(stage), stage.fullAsks]).toEqual([0, ['1']]);
  });

  it('learns the pick-up of a reserved order from a run of release 0.2.0, once, where the service names none', async () => {
    const stage = before({ 1: { ...youngEarlier, status: 'Reserved', scheduledAt: iso(start + 31 * minute) } });
    stage.answer = readingOf('Reserved');
    await stage.adopt();
    await pass(90 * second);
    expect([stage.fullAsks, told(stage)]).toEqual([['1'], 0]);
    expect(stage.times('1').slice(0, 3)).toEqual([0, 60, 70]);
  });

  it('asks no run for the pick-up that the service names', async () => {
    const stage = before({ 1: { ...youngEarlier, status: 'Reserved' } });
    stage.answer = readingOf('Reserved', { scheduledAt: iso(start + 31 * minute) });
    await stage.adopt();
    await pass(90 * second);
    expect([stage.fullAsks, told(stage), stage.times('1').slice(0, 3)]).toEqual([[], 0, [0, 60, 70]]);
  });

  it('asks runs no more often than it may, and tells nothing of orders whose run it has not asked', async () => {
    const stage = before(Object.fromEntries(ids(50).map((id) => [id, youngEarlier])));
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

describe('a watch that was handed over', () => {
  /** Orders on the watch of a process that leaves after a minute. */
  async function left(orders: number): Promise<WatchPulse | undefined> {
    const stage = new WatchStage();
    const attempt = stage.attempt();
    await pass(second);
    for (const orderId of ids(orders)) await stage.add(orderId);
    await pass(minute - second);
    stage.isLeaving = true;
    await pass(second);
    return attempt.pulses.at(-1);
  }

  it('polls each order when the process before would have done so, and others at once', async () => {
    const stage = new WatchStage();
    stage.begin(['1', '2', '3', 'new']);
    stage.attempt({
      orders: 3,
      lateMs: 0,
      since: iso(start),
      isLeft: true,
      dueInMs: { 1: 3_000, 2: 7_000, 3: -1_000 },
    });
    await pass(9 * second);
    const firsts = stage.asked.map(({ orderId, at }) => [orderId, Math.round((at - start) / second)]);
    expect(firsts).toEqual([
      ['3', 0],
      ['new', 0],
      ['1', 3],
      ['2', 7],
    ]);
  });

  it('tells the next process when it would have polled which order', async () => {
    const pulse = await left(3);
    const dues = Object.values(pulse?.dueInMs ?? {});
    expect(Object.keys(pulse?.dueInMs ?? {})).toEqual(ids(3));
    for (const inMs of dues) expect(inMs).toBeGreaterThan(-1_000);
    for (const inMs of dues) expect(inMs).toBeLessThan(11_000);
  });
});
