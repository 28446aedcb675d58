import { describe, expect, it, vi } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import { account, mostWithin, PollStage, type Run } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const budget = account.requestsPerSecond;

/** The longest time without a poll, in seconds, of each of these orders from when it was added until now. */
function longestGap(stage: PollStage, orderIds: readonly string[], addedAt = start): number {
  const last = new Map(orderIds.map((orderId) => [orderId, addedAt]));
  let longest = 0;
  const ends = orderIds.map((orderId) => ({ orderId, at: Date.now() }));
  for (const { orderId, at } of [...stage.asked, ...ends]) {
    const before = last.get(orderId);
    if (before === undefined) continue;
    longest = Math.max(longest, at - before);
    last.set(orderId, at);
  }
  return longest / second;
}

function addMany(stage: PollStage, many: number, prefix: string, run: Partial<Run> = {}): string[] {
  const orderIds = Array.from({ length: many }, (_, id) => `${prefix}${id}`);
  for (const orderId of orderIds) stage.handOver(orderId, run);
  return orderIds;
}

describe('more orders than the budget has polls for', () => {
  const fairShare = 1.3 * 62;

  it('each have their share, and no order waits longer than that', async () => {
    const stage = new PollStage({ random: 0.5 });
    const orderIds = addMany(stage, 1_000, 'a');
    await pass(10 * minute);
    expect(longestGap(stage, orderIds)).toBeLessThan(fairShare);
  });

  it('still each have their share when new orders come all the time, and others are taken over', async () => {
    const stage = new PollStage({ random: 0.5 });
    const old = addMany(stage, 850, 'a');
    const young: string[] = [];
    for (let turn = 0; turn < 30; turn += 1) {
      young.push(...addMany(stage, 4, `new-${turn}-`));
      await pass(20 * second);
    }
    for (let id = 0; id < 30; id += 1) stage.begin(`taken-${id}`);
    await stage.adopt();
    await pass(2 * minute);
    expect(longestGap(stage, old)).toBeLessThan(fairShare);
    expect(longestGap(stage, young.slice(0, 4))).toBeLessThan(fairShare);
    expect(stage.times('taken-0').length).toBeGreaterThan(0);
  });

  it('do not keep an order waiting that comes near to its pick-up', async () => {
    const stage = new PollStage();
    addMany(stage, 900, 'a');
    const near = addMany(stage, 20, 'near', { status: 'Reserved', scheduledAt: iso(start + 32 * minute) });
    for (const orderId of near) stage.service.set(orderId, readingOf('Reserved'));
    await pass(10 * minute);
    for (const orderId of near) {
      const after = stage.times(orderId).filter((at) => at > 2 * 60);
      expect(after.length).toBeGreaterThanOrEqual(6);
    }
    expect(longestGap(stage, near.slice(0, 1), start + 2 * minute)).toBeLessThan(2 * fairShare);
  });
});

describe('the polls of an account', () => {
  it('use nine tenths of its budget while no other call does, and spread evenly', async () => {
    const stage = new PollStage();
    addMany(stage, 1_000, 'a');
    await pass(2 * minute);
    const at = stage.asked.map((one) => one.at);
    expect(mostWithin(10 * second, at)).toBeLessThanOrEqual(0.92 * budget * 10);
    expect(at.length).toBeGreaterThan(0.88 * budget * 109);
    expect(mostWithin(second, at)).toBeLessThanOrEqual(budget);
  });

  it('are few while this process may not be the only one with the watch', async () => {
    const stage = new PollStage();
    stage.standing.isOnlyOne = false;
    addMany(stage, 1_000, 'a');
    await pass(2 * minute);
    expect(
      mostWithin(
        10 * second,
        stage.asked.map(({ at }) => at),
      ),
    ).toBeLessThanOrEqual(0.25 * budget * 10 + 1);
  });

  it('are sent one by one after a pause of the whole process', async () => {
    const stage = new PollStage();
    addMany(stage, 1_000, 'a');
    await pass(minute);
    vi.setSystemTime(Date.now() + 2 * minute); // no timer fires meanwhile
    const polls = await stage.polledWithin(10 * second);
    expect(polls.length).toBeLessThanOrEqual(0.92 * budget * 10 + 1);
    expect(
      mostWithin(
        100,
        polls.map(({ at }) => at),
      ),
    ).toBeLessThanOrEqual(3);
  });

  it('tell how late the most overdue order is', async () => {
    const stage = new PollStage();
    addMany(stage, 10, 'a');
    await pass(minute);
    expect(stage.polls.lateMs).toBeLessThan(1_000);
    addMany(stage, 2_000, 'b');
    await pass(minute);
    expect(stage.polls.lateMs).toBeGreaterThan(30_000);
    expect([stage.polls.size, stage.polls.sent]).toEqual([2_010, stage.asked.length]);
  });
});
