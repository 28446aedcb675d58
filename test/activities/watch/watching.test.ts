import { CompleteAsyncError } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, second, start } from '../temporal.js';
import { account, inputOf, noRun } from './runs.js';
import { ended, ids, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const pollsWithin = async (stage: WatchStage, ms: number): Promise<number> => (await stage.polledWithin(ms)).length;
const sizes = (stage: WatchStage): number[] => stage.watching.held().map(({ polls }) => polls.size);

describe('the activity of a watch', () => {
  it('polls the orders that visibility lists, and those that runs hand over', async () => {
    const stage = new WatchStage();
    stage.begin('1');
    const attempt = stage.attempt();
    await pass(second);
    expect(stage.times('1')).toEqual([expect.closeTo(0)]);
    await stage.add('2');
    await pass(20 * second);
    expect(stage.asked).toHaveLength(5);
    expect(attempt.pulses.length, 'one each five seconds').toBeGreaterThan(4);
    expect(attempt.pulses.at(-1)).toMatchObject({ orders: 2, lateMs: 0, since: iso(start) });
    expect(attempt.isOver).toBe(false);
  });

  it('ends as idle when the account has had no order for a minute', async () => {
    const stage = new WatchStage();
    const attempt = stage.attempt();
    await pass(3 * minute);
    expect(attempt).toMatchObject({ isOver: true, end: 'idle' });
    expect([stage.served, sizes(stage)]).toEqual([['stopped'], []]);
  });

  it('does not end while an order is left, nor soon after the last one', async () => {
    const stage = new WatchStage();
    const attempt = await stage.attemptWithOrder();
    await pass(20 * minute);
    expect(attempt.isOver).toBe(false);
    stage.answer = ended();
    stage.readByRun('1');
    await pass(30 * second);
    expect([attempt.isOver, sizes(stage)]).toEqual([false, [0]]);
    await pass(20 * minute);
    expect(attempt.end).toBe('idle');
  });

  it('ends when workers of another version get the tasks of the account, so that its run goes to one of them', async () => {
    const stage = new WatchStage();
    const attempt = await stage.attemptWithOrder();
    await pass(6 * minute);
    expect(attempt.isOver).toBe(false);
    stage.isSucceeded = true;
    await pass(5 * minute);
    expect([attempt.end, sizes(stage), stage.served]).toEqual(['renew', [], ['stopped']]);
    expect(await pollsWithin(stage, minute)).toBe(0);
    const again = stage.attempt();
    await pass(4 * minute);
    expect(again.isOver, 'it came back to this process, so it stays for five minutes').toBe(false);
    stage.isTemporalDown = true;
    await pass(2 * minute);
    expect(again.isOver, 'Temporal does not say which version is current').toBe(false);
    stage.isTemporalDown = false;
    await pass(minute);
    expect(again.end).toBe('renew');
  });

  it('ends each half day, so that its run can continue as new, and the next one goes on', async () => {
    const stage = new WatchStage();
    stage.begin('1', { pushed: true });
    const attempt = stage.attempt();
    await pass(minute);
    vi.setSystemTime(start + 12 * 60 * minute);
    await pass(3 * second);
    expect([attempt.end, sizes(stage)]).toEqual(['renew', []]);
    stage.attempt();
    await pass(10 * minute);
    expect([sizes(stage), stage.served]).toEqual([[1], ['stopped', 'serving']]);
  });

  it('hands the watch over at once when the worker leaves, to be tried again by another one', async () => {
    const stage = new WatchStage();
    const attempt = await stage.attemptWithOrder();
    stage.isLeaving = true;
    await pass(second);
    const handedOver = { type: 'HandedOver', nonRetryable: false, category: 'BENIGN', nextRetryDelay: 1 };
    expect(attempt.error).toMatchObject(handedOver);
    expect(stage.served).toEqual(['stopped']);
    expect(await pollsWithin(stage, minute)).toBe(0);
    await expect(stage.add('2')).rejects.toMatchObject({ type: 'NotWatching', nonRetryable: false });
  });

  it('leaves nothing behind when it is cancelled before the first list has come', async () => {
    const stage = new WatchStage();
    stage.listMs = minute;
    const attempt = stage.attempt();
    await pass(4 * second);
    expect(attempt.pulses.length, 'it has started with what it has').toBeGreaterThan(0);
    attempt.cancel({ workerShutdown: true });
    await pass(5 * second);
    expect(attempt.error).toBeInstanceOf(CancelledFailure);
    expect([stage.served, sizes(stage)]).toEqual([['stopped'], []]);
  });
});

describe('the activity of a pending read', () => {
  const orderOf = (stage: WatchStage) => {
    stage.begin('1');
    return inputOf('1', stage.runs.get('1') ?? noRun);
  };

  it('hands the order over, and stays open until a poll finds something', async () => {
    const stage = new WatchStage();
    stage.readAfterMs = second;
    stage.attempt();
    await pass(second);
    await expect(stage.watching.activities.nextReading(orderOf(stage))).rejects.toBeInstanceOf(CompleteAsyncError);
    expect(sizes(stage)).toEqual([1]);
    await pass(10 * second);
    expect([stage.times('1'), stage.findings]).toEqual([[11], []]);
    stage.answer = readingOf('Driving');
    await pass(10 * second);
    expect(stage.findings).toMatchObject([{ orderId: '1', at: start + 21 * second }]);
    await pass(12 * second);
    expect(stage.times('1'), 'the run has handed it over anew').toEqual([11, 21, 32]);
  });

  it.each(['nextReading', 'watchOrder'] as const)(
    'fails for another try where this process does not hold the watch, or has just left it: %s',
    async (name) => {
      const stage = new WatchStage();
      const activity = stage.watching.activities[name];
      const failure = { type: 'NotWatching', nonRetryable: false, nextRetryDelay: 500 };
      await expect(activity(orderOf(stage))).rejects.toMatchObject(failure);
      await stage.attemptWithOrder();
      stage.isLeaving = true;
      await pass(second);
      await expect(activity(orderOf(stage))).rejects.toMatchObject(failure);
    },
  );

  it('leaves the order to be handed over by another activity, which stays not open: the pick-up has moved', async () => {
    const stage = new WatchStage();
    await stage.attemptWithOrder();
    stage.change('1', { scheduledAt: iso(Date.now() + 60 * minute), status: 'Reserved' });
    await stage.watching.activities.watchOrder(inputOf('1', stage.runs.get('1') ?? noRun));
    expect(sizes(stage)).toEqual([1]);
    stage.answer = readingOf('Reserved');
    expect(await pollsWithin(stage, minute), 'the pace of a reserved order').toBe(0);
  });
});

describe('a watch that its process loses', () => {
  it('ends when Temporal has given it up, so that another process alone has it', async () => {
    const stage = new WatchStage();
    const attempt = await stage.attemptWithOrder();
    attempt.cancel();
    await pass(second);
    expect(attempt.error).toBeInstanceOf(CancelledFailure);
    expect([await pollsWithin(stage, minute), stage.served, sizes(stage)]).toEqual([0, ['stopped'], []]);
    expect(stage.started, 'Temporal hands it out by itself').toEqual([]);
  });

  it('polls on without Temporal for three minutes', async () => {
    const stage = new WatchStage();
    const attempt = await stage.attemptWithOrder();
    stage.isTemporalDown = true;
    await pass(170 * second);
    expect(await pollsWithin(stage, 10 * second)).toBeGreaterThan(0);
    await pass(20 * second);
    expect(attempt.error).toMatchObject({ type: 'HandedOver', nonRetryable: false });
    expect([await pollsWithin(stage, minute), stage.served, sizes(stage)]).toEqual([0, ['stopped'], []]);
  });

  it('gives way to the next attempt in the same process, which the end of the first one does not touch', async () => {
    const stage = new WatchStage();
    const first = await stage.attemptWithOrder();
    stage.attempt({ orders: 1, lateMs: 0, since: iso(start) });
    await pass(10 * second);
    expect([stage.served, sizes(stage)]).toEqual([['stopped', 'serving'], [1]]);
    first.cancel({ timedOut: true });
    await pass(second);
    expect([first.isOver, stage.served]).toEqual([true, ['stopped', 'serving']]);
    expect(await pollsWithin(stage, minute), 'one pace').toBe(6);
    await stage.add('2');
    expect(sizes(stage)).toEqual([2]);
  });
});

describe('what a watch tells its run', () => {
  it('is once who polls, and then only news about the trouble of the account', async () => {
    const stage = new WatchStage();
    await stage.attemptWithOrder();
    expect(stage.told).toEqual([{ worker: '7@host', orders: 1, attention: null }]);
    stage.answer = apiError('TOKEN_REJECTED');
    await pass(10 * minute);
    expect(stage.told.slice(1)).toMatchObject([{ attention: { code: 'credentialsRejected' } }]);
    stage.answer = readingOf('Routing');
    await pass(2 * minute);
    expect(stage.told.slice(2)).toMatchObject([{ attention: null }]);
  });

  it('comes later if Temporal does not answer', async () => {
    const stage = new WatchStage();
    await stage.attemptWithOrder();
    stage.isTemporalDown = true;
    stage.answer = apiError('TOKEN_REJECTED');
    await pass(2 * minute);
    expect(stage.told).toHaveLength(1);
    stage.isTemporalDown = false;
    await pass(5 * second);
    expect(stage.told.at(-1)).toMatchObject({ attention: { code: 'credentialsRejected' } });
  });
});

describe('what a watch tells the subscription', () => {
  /** One order of whose end a delivery has told, and another one that goes on; counts are told each ten minutes. */
  async function counting() {
    const stage = new WatchStage({ pace: { counts: 10 * minute } });
    const attempt = await stage.attemptWithOrder();
    await stage.add('2', { pushed: true });
    stage.service.set('1', ended());
    stage.readByRun('1', true);
    await pass(30 * second);
    return { stage, attempt };
  }
  const counts = { read: 0, delivered: 1, from: iso(start) };

  it('is told when the watch ends', async () => {
    const { stage, attempt } = await counting();
    stage.isLeaving = true;
    await pass(3 * second);
    expect([attempt.isOver, stage.toldCounts]).toEqual([true, [counts]]);
  });

  it('counts an end that only a poll finds, also of an order whose other changes were announced', async () => {
    const { stage, attempt } = await counting();
    stage.readAfterMs = second;
    stage.service.set('2', ended());
    await pass(6 * minute);
    stage.isLeaving = true;
    await pass(3 * second);
    expect([attempt.isOver, stage.toldCounts]).toEqual([true, [{ ...counts, read: 1 }]]);
  });

  it('is not lost if Temporal does not answer', async () => {
    const { stage } = await counting();
    await pass(8 * minute);
    stage.isTemporalDown = true;
    await pass(2 * minute);
    stage.isTemporalDown = false;
    await pass(20 * minute);
    expect(stage.toldCounts).toMatchObject([{ delivered: 1 }]);
  });
});

describe('lists of live orders', () => {
  const listedAt = (stage: WatchStage, unit: number) => stage.lists.map((at) => Math.round((at - start) / unit));

  it('are made at the beginning, twice after a minute, and then each eight minutes', async () => {
    const stage = new WatchStage();
    await stage.attemptWithOrder();
    await pass(20 * minute);
    expect(listedAt(stage, minute)).toEqual([0, 1, 2, 10, 18]);
  });

  it('are made again soon when visibility does not answer, which is logged once', async () => {
    const stage = new WatchStage();
    stage.listsUntil = 0;
    stage.begin('1');
    stage.attempt();
    await pass(70 * second);
    expect(listedAt(stage, second)).toEqual([0, 2, 6, 14, 30, 60]);
    expect(stage.warnings).toHaveLength(1);
    stage.listsUntil = Infinity;
    await pass(40 * second);
    expect(stage.asked.length).toBeGreaterThan(0);
  });

  it('are taken page by page: what comes before a failure is polled', async () => {
    const stage = new WatchStage();
    Object.assign(stage, { pageSize: 2, listsUntil: 4 });
    stage.begin(ids(6));
    stage.attempt();
    await pass(3 * second);
    expect([sizes(stage), new Set(stage.asked.map(({ orderId }) => orderId)).size]).toEqual([[4], 4]);
    stage.listsUntil = Infinity;
    await pass(10 * second);
    expect(sizes(stage)).toEqual([6]);
  });
});

describe('the run of a watch', () => {
  const name = toAccountName('acme');

  it('is asked for once a minute for each account, and not for one whose watch this worker holds', async () => {
    const stage = new WatchStage();
    for (let turn = 0; turn < 60; turn += 1) {
      await stage.watching.start(name);
      await pass(3 * second);
    }
    expect(stage.started).toHaveLength(3);
    await stage.attemptWithOrder();
    await stage.watching.start(account.name);
    expect(stage.started).toHaveLength(3);
  });

  it('is asked for again at once where Temporal did not answer', async () => {
    const stage = new WatchStage();
    for (stage.isTemporalDown of [true, false]) await stage.watching.start(name);
    expect(stage.started).toHaveLength(1);
  });

  it('is asked for of one account after the other when a worker starts, until it leaves', async () => {
    const stage = new WatchStage();
    const starting = stage.watching.startAll(ids(100, 'acme-').map((one) => toAccountName(one)));
    await pass(second);
    expect(stage.started.length).toBeGreaterThan(10);
    expect(stage.started.length).toBeLessThanOrEqual(21);
    stage.isLeaving = true;
    await pass(second);
    await starting;
    expect(stage.started.length).toBeLessThanOrEqual(21);
  });

  it.each([{ notFound: true }, { cancelRequested: true }])(
    'starts again while it has orders when an operator has ended it: %j',
    async (details) => {
      const stage = new WatchStage();
      const attempt = await stage.attemptWithOrder();
      attempt.cancel(details);
      await pass(4 * second);
      expect(stage.started, 'not while the run may still be closing').toEqual([]);
      await pass(2 * second);
      expect(stage.started).toHaveLength(1);
      expect(await pollsWithin(stage, minute)).toBe(0);
    },
  );

  it('does not start again without orders', async () => {
    const stage = new WatchStage();
    const attempt = stage.attempt();
    await pass(10 * second);
    attempt.cancel({ notFound: true });
    await pass(10 * second);
    expect(stage.started).toEqual([]);
  });
});
