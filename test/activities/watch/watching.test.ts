import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it, vi } from 'vitest';
import { iso, minute, second, start } from '../temporal.js';
import { HostStage, orderOf } from './host.js';
import { ended } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

describe('the activity of a watch', () => {
  it('polls the orders that visibility lists, and those that runs hand over', async () => {
    const host = new HostStage();
    host.listed = [orderOf('1')];
    const running = host.attempt();
    await pass(second);
    expect(host.asked).toHaveLength(1);
    expect(host.asked[0]).toBeLessThan(start + 100);
    await host.add('2');
    await pass(20 * second);
    expect(host.asked).toHaveLength(5);
    expect(running.pulses.at(-1)).toMatchObject({ orders: 2, lateMs: 0 });
    expect(running.isOver).toBe(false);
  });

  it('heartbeats at least each five seconds how many orders it polls, and how fast', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    expect(running.pulses.length).toBeGreaterThan(12);
    expect(running.pulses.at(-1)).toMatchObject({
      orders: 1,
      pollsPerSecond: 0.1,
      since: new Date(start).toISOString(),
    });
  });

  it('ends as idle when the account has had no order for a minute', async () => {
    const host = new HostStage();
    const running = host.attempt();
    await pass(3 * minute);
    expect(running).toMatchObject({ isOver: true, end: 'idle' });
    expect([host.served, host.watching.held()]).toEqual([['stopped'], []]);
  });

  it('does not end while an order is left, nor soon after the last one', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    await pass(20 * minute);
    expect(running.isOver).toBe(false);
    host.answer = ended();
    Object.assign(host.run, { isOpen: false, status: 'Completed' });
    host.listed = [];
    await pass(30 * second);
    expect([running.isOver, host.watching.held()[0]?.polls.size]).toEqual([false, 0]);
    await pass(20 * minute);
    expect(running.end).toBe('idle');
  });

  it('ends each half day, so that its run can continue as new, and polls on meanwhile', async () => {
    const host = new HostStage();
    host.listed = [orderOf('1', { pushed: true })];
    const running = host.attempt();
    await pass(minute);
    vi.setSystemTime(start + 12 * 60 * minute);
    await pass(3 * second);
    expect(running.end).toBe('renew');
    expect(host.watching.held()).toHaveLength(1);
    const next = host.attempt();
    await pass(10 * minute);
    expect([next.isOver, host.served]).toEqual([false, ['serving']]);
  });

  it('hands the watch over at once when the worker leaves, to be tried again by another one', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    host.isLeaving = true;
    await pass(second);
    expect(running.error).toMatchObject({
      type: 'HandedOver',
      nonRetryable: false,
      category: 'BENIGN',
      nextRetryDelay: 1,
    });
    expect(host.served).toEqual(['stopped']);
    expect(await host.polledWithin(minute)).toBe(0);
    await expect(host.add('2')).rejects.toMatchObject({ type: 'NotWatching', nonRetryable: false });
  });

  it('leaves nothing behind when it is cancelled before the first list has come', async () => {
    const host = new HostStage();
    host.listMs = minute;
    const running = host.attempt();
    await pass(second);
    running.cancel({ workerShutdown: true });
    await pass(5 * second);
    expect(running.error).toBeInstanceOf(CancelledFailure);
    expect([host.watching.held(), host.served]).toEqual([[], ['stopped']]);
  });

  it('starts with what it has when visibility is slow', async () => {
    const host = new HostStage();
    host.listMs = 20 * second;
    const running = host.attempt();
    await pass(4 * second);
    expect(running.pulses.length).toBeGreaterThan(0);
  });
});

describe('a watch that Temporal hears no more of', () => {
  it('goes on with its polls, though no attempt is left here', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    running.cancel();
    await pass(second);
    expect(running.error).toBeInstanceOf(CancelledFailure);
    expect(await host.polledWithin(2 * minute)).toBeGreaterThanOrEqual(10);
    expect(host.served).toEqual(['serving']);
  });

  it('ends as soon as another process holds it', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    running.cancel();
    await pass(30 * second);
    host.isElsewhere = true;
    await pass(6 * second);
    expect([await host.polledWithin(minute), host.served, host.watching.held()]).toEqual([0, ['stopped'], []]);
  });

  it('ends after three minutes without Temporal', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    host.isTemporalDown = true;
    running.cancel();
    await pass(170 * second);
    expect(await host.polledWithin(second * 10)).toBeGreaterThan(0);
    await pass(10 * second);
    expect([await host.polledWithin(minute), host.watching.held()]).toEqual([0, []]);
  });

  it('ends with its worker', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    running.cancel();
    await pass(second);
    host.isLeaving = true;
    await pass(6 * second);
    expect(await host.polledWithin(minute)).toBe(0);
  });

  it('is the same one when Temporal hands the next attempt to this process', async () => {
    const host = new HostStage();
    const running = await host.watching1();
    const { length } = host.lists;
    running.cancel();
    await pass(30 * second);
    const next = host.attempt();
    await pass(5 * minute);
    expect([next.isOver, host.served, host.watching.held().length]).toEqual([false, ['serving'], 1]);
    expect(next.pulses[0]).toMatchObject({ orders: 1 });
    expect(host.lists.length - length, 'no list of its own').toBeLessThanOrEqual(2);
  });

  it('is taken over slowly, since the process that held it may poll on for some seconds', async () => {
    const host = new HostStage();
    host.listed = Array.from({ length: 500 }, (_, id) => orderOf(String(id)));
    const before = { orders: 500, lateMs: 0, pollsPerSecond: 14, since: iso(Date.now()) };
    host.attempt(before);
    expect(await host.polledWithin(9 * second)).toBeLessThanOrEqual(41);
    await pass(2 * second);
    expect(await host.polledWithin(10 * second)).toBeGreaterThan(130);
  });

  it('is taken over at once from a worker that has left it', async () => {
    const leaving = new HostStage();
    const { pulses } = await leaving.watching1();
    leaving.isLeaving = true;
    await pass(second);
    const host = new HostStage();
    host.listed = Array.from({ length: 500 }, (_, id) => orderOf(String(id)));
    host.attempt(pulses.at(-1));
    await pass(second);
    expect(await host.polledWithin(8 * second)).toBeGreaterThan(100);
  });

  it('polls slowly while Temporal does not answer, since another process may hold it, and fast again', async () => {
    const host = new HostStage();
    const many = Array.from({ length: 500 }, (_, id) => orderOf(String(id)));
    host.listed = many;
    host.attempt();
    await pass(2 * minute);
    expect(await host.polledWithin(10 * second)).toBeGreaterThan(130);
    host.isTemporalDown = true;
    await pass(35 * second);
    expect(await host.polledWithin(10 * second)).toBeLessThanOrEqual(41);
    host.isTemporalDown = false;
    await pass(10 * second);
    expect(await host.polledWithin(10 * second)).toBeGreaterThan(130);
  });
});

it('two attempts share one watch, which ends with the last of them', async () => {
  const host = new HostStage();
  const first = await host.watching1();
  const second2 = host.attempt();
  await pass(10 * second);
  first.cancel({ notFound: false, cancelRequested: true });
  await pass(second);
  expect([first.isOver, second2.isOver, host.served]).toEqual([true, false, ['serving']]);
  expect(await host.polledWithin(minute)).toBe(6);
  second2.cancel({ cancelRequested: true });
  await pass(second);
  expect([host.served, host.watching.held()]).toEqual([['stopped'], []]);
});

it.each([{ notFound: true }, { cancelRequested: true }])(
  'a watch whose run an operator has ended starts again while it has orders: %j',
  async (details) => {
    const host = new HostStage();
    const running = await host.watching1();
    running.cancel(details);
    await pass(4 * second);
    expect(host.started, 'not while the run may still be closing').toEqual([]);
    await pass(2 * second);
    expect(host.started).toHaveLength(1);
    expect(await host.polledWithin(minute)).toBe(0);
  },
);

it('a watch whose run an operator has ended does not start again without orders', async () => {
  const host = new HostStage();
  const running = host.attempt();
  await pass(10 * second);
  running.cancel({ notFound: true });
  await pass(second);
  expect(host.started).toEqual([]);
});

it('polls give way to the first reads of new orders, which other processes make', async () => {
  const host = new HostStage();
  host.listed = Array.from({ length: 1_000 }, (_, index) => orderOf(`live-${index}`));
  host.attempt();
  await pass(2 * second);
  expect(await host.polledWithin(10 * second), 'nine tenths of the budget of 16').toBeGreaterThan(140);
  let isAdding = true;
  const add = (): void => {
    if (!isAdding) return;
    void host.add(`new-${Date.now()}`);
    setTimeout(add, 1_000 / 14);
  };
  add();
  await pass(2 * second);
  expect(await host.polledWithin(10 * second)).toBeLessThan(35);
  isAdding = false;
  await pass(2 * second);
  expect(await host.polledWithin(10 * second)).toBeGreaterThan(140);
});
