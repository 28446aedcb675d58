import { expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { iso, minute, second, start } from '../temporal.js';
import { PollStage, type Run } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

it('an active order is polled each ten seconds, first ten seconds after its run has read it', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  await pass(35 * second);
  expect(stage.times('1')).toEqual([10, 20, 30]);
});

const reserved = { status: 'Reserved' };
it.each<[string, Partial<Run>, number[]]>([
  ['whose status is old', { since: start - 25 * minute }, [25]],
  ['whose changes are announced', { pushed: true }, [300, 600]],
  ['that is reserved', reserved, [300, 600]],
  ['that is reserved, and near its pick-up', { ...reserved, scheduledAt: iso(start + 20 * minute) }, [10, 20]],
  ['that is reserved, shortly before that', { ...reserved, scheduledAt: iso(start + 31 * minute) }, [60, 70]],
  ['with an unknown word', { status: 'On hold' }, [10, 20]],
])('an order %s is polled at its own pace', async (_, more, polls) => {
  const stage = new PollStage();
  stage.answer = readingOf(more.status ?? 'Routing');
  stage.handOver('1', more);
  await pass(11 * minute);
  expect(stage.times('1').slice(0, polls.length)).toEqual(polls);
});

it('polls of one order spread by up to a tenth of its pace', async () => {
  const stage = new PollStage({ random: 0.5 });
  stage.handOver('1');
  await pass(22 * second);
  expect(stage.times('1')).toEqual([10.5, 21]);
});

it('a poll that finds nothing new costs one request, and asks no run', async () => {
  const stage = new PollStage();
  for (const orderId of ['1', '2', '3']) stage.handOver(orderId);
  const polls = await stage.polledWithin(10 * minute);
  expect(polls.length).toBeGreaterThan(150);
  expect(stage.outcomes).toEqual(Array(polls.length).fill('unchanged'));
  expect([stage.shownAsks, stage.fullAsks, stage.hints]).toEqual([[], [], []]);
});

it('an order that is handed over once more is polled by one pace: that of what its run shows now', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  await pass(5 * second);
  stage.handOver('1', reserved);
  stage.answer = readingOf('Reserved');
  await pass(9 * minute);
  expect(stage.times('1')).toEqual([305]);
  expect(stage.polls.size).toBe(1);
});

it('a run that hands its order over while a poll is under way does not lose it', async () => {
  const stage = new PollStage();
  stage.answerMs = 4 * second;
  stage.handOver('1');
  await pass(12 * second);
  stage.handOver('1');
  await pass(60 * second);
  expect(stage.times('1').filter((at) => at > 20).length).toBeGreaterThan(2);
  const gaps = stage.times('1').map((at, index, all) => at - (all[index - 1] ?? 0));
  expect(Math.min(...gaps), 'two paces at once').toBeGreaterThanOrEqual(10);
});

it('polls end with the watch', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  await pass(15 * second);
  stage.end();
  expect(await stage.polledWithin(5 * minute)).toEqual([]);
});

it('slow answers of the service do not slow down other orders', async () => {
  const stage = new PollStage();
  stage.answerMs = 15 * second;
  for (let id = 0; id < 50; id += 1) stage.handOver(String(id));
  const polls = await stage.polledWithin(50 * second);
  expect(polls.length).toBeGreaterThanOrEqual(100); // each pace is ten seconds and the answer
  expect(stage.mostInFlight).toBeGreaterThan(40);
});

it('at most 64 polls wait for the service at a time', async () => {
  const stage = new PollStage({ budget: 100 });
  stage.answerMs = 20 * second;
  for (let id = 0; id < 500; id += 1) stage.handOver(String(id));
  await pass(30 * second);
  expect(stage.mostInFlight).toBe(64);
});
