import { expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { minute, second } from '../temporal.js';
import { ended, PollStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

it('an end that a poll found counts as read, and one that a delivery announced as delivered', async () => {
  const stage = new PollStage();
  stage.readAfterMs = second;
  for (const orderId of ['1', '2', '3']) stage.handOver(orderId);
  for (const orderId of ['1', '2', '3']) stage.service.set(orderId, ended());
  stage.readByRun('3', true);
  await pass(minute);
  expect(stage.polls.takeCounts()).toEqual({ read: 2, delivered: 1 });
});

it('changes before the end count only if a delivery announced them', async () => {
  const stage = new PollStage();
  stage.readAfterMs = second;
  stage.handOver('1');
  stage.handOver('2');
  for (const word of ['Confirmed', 'Waiting', 'Driving']) {
    for (const orderId of ['1', '2']) stage.service.set(orderId, readingOf(word));
    stage.readByRun('2', true);
    await pass(6 * minute);
  }
  expect(stage.hintsOf('1')).toHaveLength(3);
  expect(stage.polls.takeCounts()).toEqual({ read: 0, delivered: 3 });
});

it('an order that is stopped counts for nothing', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  Object.assign(stage.runs.get('1') ?? {}, { isOpen: false });
  stage.service.set('1', readingOf('Driving'));
  await pass(minute);
  expect(stage.polls.takeCounts()).toEqual({ read: 0, delivered: 0 });
});

it('counts are taken once', async () => {
  const stage = new PollStage();
  stage.handOver('1');
  stage.service.set('1', ended());
  stage.readByRun('1', true);
  await pass(minute);
  expect(stage.polls.takeCounts()).toEqual({ read: 0, delivered: 1 });
  expect(stage.polls.takeCounts()).toEqual({ read: 0, delivered: 0 });
});
