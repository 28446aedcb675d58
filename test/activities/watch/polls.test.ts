import { describe, expect, it, vi } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import { account, type Run } from './runs.js';
import { ended, ids, mostWithin, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const budget = account.requestsPerSecond;
const instantsOf = (polls: WatchStage['asked']): number[] => polls.map(({ at }) => at);

const reserved = { status: 'Reserved' };
it.each<[string, Partial<Run>, number[]]>([
  ['that is active, first ten seconds after its run has read it,', {}, [10, 20, 30]],
  ['whose status is old', { since: start - 25 * minute }, [25]],
  ['whose changes are announced', { pushed: true }, [300, 600]],
  ['that is reserved', reserved, [300, 600]],
  ['that is reserved, and near its pick-up', { ...reserved, scheduledAt: iso(start + 20 * minute) }, [10, 20]],
  ['that is reserved, shortly before that', { ...reserved, scheduledAt: iso(start + 31 * minute) }, [60, 70]],
  ['with an unknown word', { status: 'On hold' }, [10, 20]],
])('an order %s is polled at its own pace, until the watch ends', async (_, more, polls) => {
  const stage = new WatchStage();
  stage.answer = readingOf(more.status ?? 'Routing');
  stage.handOver('1', more);
  await pass(11 * minute);
  expect(stage.times('1').slice(0, polls.length)).toEqual(polls);
  stage.polls.stop();
  expect(await stage.polledWithin(5 * minute)).toEqual([]);
});

it('polls of one order spread by up to a tenth of its pace', async () => {
  const stage = new WatchStage({ random: 0.5 });
  stage.handOver('1');
  await pass(22 * second);
  expect(stage.times('1')).toEqual([10.5, 21]);
});

it('a poll that finds nothing new costs one request, and asks no run', async () => {
  const stage = new WatchStage();
  stage.handOver(ids(3));
  const polls = await stage.polledWithin(10 * minute);
  expect(polls.length).toBeGreaterThan(150);
  expect(stage.outcomes).toEqual(Array(polls.length).fill('unchanged'));
  expect([stage.shownAsks, stage.fullAsks, stage.findings, stage.hints]).toEqual([[], [], [], []]);
});

it('a run that hands its order over while a poll is under way does not lose it', async () => {
  const stage = new WatchStage();
  stage.answerMs = 4 * second;
  stage.handOver('1');
  await pass(12 * second);
  stage.handOver('1');
  await pass(60 * second);
  expect(stage.times('1').filter((at) => at > 20).length).toBeGreaterThan(2);
  const gaps = stage.times('1').map((at, index, all) => at - (all[index - 1] ?? 0));
  expect(Math.min(...gaps), 'two paces at once').toBeGreaterThanOrEqual(10);
});

it('slow answers of the service are waited for by at most 64 polls at a time', async () => {
  const stage = new WatchStage({ budget: 100 });
  stage.answerMs = 20 * second;
  stage.handOver(ids(500));
  await pass(30 * second);
  expect(stage.mostInFlight).toBe(64);
});

const fairShare = 1.3 * 62;

/** The longest time without a poll, in seconds, of each of these orders from when it was added until now. */
function longestGap(stage: WatchStage, orderIds: readonly string[], addedAt = start): number {
  const last = new Map(orderIds.map((orderId) => [orderId, addedAt]));
  let longest = 0;
  const now = orderIds.map((orderId) => ({ orderId, at: Date.now() }));
  for (const { orderId, at } of [...stage.asked, ...now]) {
    const before = last.get(orderId);
    if (before === undefined) continue;
    longest = Math.max(longest, at - before);
    last.set(orderId, at);
  }
  return longest / second;
}

it('more orders than the budget has polls for each have their share, also when new orders come all the time, and others are taken over', async () => {
  const stage = new WatchStage({ random: 0.5 });
  const old = ids(850);
  const young = ids(120, 'new-');
  stage.handOver(old);
  for (let turn = 0; turn < 30; turn += 1) {
    stage.handOver(young.slice(4 * turn, 4 * turn + 4));
    await pass(20 * second);
  }
  stage.begin(ids(30, 'taken-'));
  await stage.adopt();
  await pass(2 * minute);
  expect(longestGap(stage, old)).toBeLessThan(fairShare);
  expect(longestGap(stage, young.slice(0, 4))).toBeLessThan(fairShare);
  expect(stage.times('taken-0').length).toBeGreaterThan(0);
});

describe('the polls of an account', () => {
  it('use nine tenths of its budget while no other call does, and spread evenly', async () => {
    const stage = new WatchStage();
    stage.handOver(ids(1_000));
    await pass(2 * minute);
    const at = instantsOf(stage.asked);
    expect(mostWithin(10 * second, at)).toBeLessThanOrEqual(0.92 * budget * 10);
    expect(at.length).toBeGreaterThan(0.88 * budget * 109);
    expect(mostWithin(second, at)).toBeLessThanOrEqual(budget);
  });

  it('are sent one by one after a pause of the whole process', async () => {
    const stage = new WatchStage();
    stage.handOver(ids(1_000));
    await pass(minute);
    vi.setSystemTime(Date.now() + 2 * minute); // no timer fires meanwhile
    const polls = instantsOf(await stage.polledWithin(10 * second));
    expect(polls.length).toBeLessThanOrEqual(0.92 * budget * 10 + 1);
    expect(mostWithin(100, polls)).toBeLessThanOrEqual(3);
  });

  it('tell how late the most overdue order is', async () => {
    const stage = new WatchStage();
    stage.handOver(ids(10));
    await pass(minute);
    expect(stage.polls.lateMs).toBeLessThan(1_000);
    stage.handOver(ids(2_000, 'more'));
    await pass(minute);
    expect(stage.polls.lateMs).toBeGreaterThan(30_000);
    expect([stage.polls.size, stage.polls.sent]).toEqual([2_010, stage.asked.length]);
  });
});

describe('the counts of how changes were found', () => {
  it('have the ends that a poll found as read, and those that a delivery announced as delivered', async () => {
    const stage = new WatchStage();
    stage.readAfterMs = second;
    stage.handOver(['1', '2', '3']);
    stage.answer = ended();
    stage.readByRun('3', true);
    await pass(minute);
    expect(stage.polls.counts).toEqual({ read: 2, delivered: 1 });
  });

  it('have changes before the end only if a delivery announced them', async () => {
    const stage = new WatchStage();
    stage.readAfterMs = second;
    stage.handOver(['1', '2']);
    for (const word of ['Confirmed', 'Waiting', 'Driving']) {
      stage.answer = readingOf(word);
      stage.readByRun('2', true);
      await pass(6 * minute);
    }
    expect(stage.findingsOf('1')).toHaveLength(3);
    expect(stage.polls.counts).toEqual({ read: 0, delivered: 3 });
  });

  it('have nothing of an order that is stopped', async () => {
    const stage = new WatchStage();
    stage.handOver('1');
    stage.change('1');
    stage.service.set('1', readingOf('Driving'));
    await pass(minute);
    expect(stage.polls.counts).toEqual({ read: 0, delivered: 0 });
  });
});
