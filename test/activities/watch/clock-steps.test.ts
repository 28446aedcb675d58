import { expect, it } from 'vitest';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { minute, second } from '../temporal.js';
import { account } from './runs.js';
import { ids, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const steps = [
  ['back', -10 * minute],
  ['forward', 10 * minute],
] as const;

it.each(steps)(
  'polls go on at their pace while the wall clock steps %s ten minutes, and none is late',
  async (_, ms) => {
    const stage = new WatchStage();
    stage.handOver(ids(20));
    // Each ten seconds, and more slowly as the status grows older.
    const expectPace = async (): Promise<void> => {
      const polls = (await stage.polledWithin(minute)).length;
      expect(polls).toBeGreaterThanOrEqual(85);
      expect(polls).toBeLessThanOrEqual(125);
      expect(stage.polls.lateMs).toBeLessThan(2 * second);
    };
    await expectPace();
    stage.wallAheadMs = ms;
    await expectPace();
    await expectPace();
    stage.wallAheadMs = 0;
    await expectPace();
  },
);

it.each(steps)(
  'an outage is shown after five minutes and over within one, with a step %s of the wall clock in it',
  async (_, ms) => {
    const stage = new WatchStage();
    stage.handOver(ids(20));
    await pass(20 * second);
    stage.answer = apiError('UPSTREAM_FAILED');
    await pass(2 * minute);
    stage.wallAheadMs = ms;
    await pass(2 * minute);
    expect(stage.polls.attention ?? null).toBeNull();
    await pass(2 * minute);
    expect(stage.polls.attention).toMatchObject({ code: 'upstreamUnavailable' });
    stage.wallAheadMs = 0;
    stage.answer = readingOf('Routing');
    await pass(minute);
    expect(stage.polls.attention).toBeNull();
  },
);

it.each(steps)('a watch ends when it has had no order for its time, and not at a step %s', async (_, ms) => {
  const stage = new WatchStage({ pace: { idle: 2 * minute, lists: [30_000] } });
  const attempt = stage.attempt();
  await pass(30 * second);
  stage.wallAheadMs = ms;
  await pass(minute);
  expect(attempt.isOver).toBe(false);
  await pass(3 * minute);
  expect(attempt.end).toBe('idle');
});

it('a watch whose polls find no end, or which cannot send any, is ever later', async () => {
  const stage = new WatchStage();
  stage.handOver(ids(2));
  await pass(9 * second);
  stage.answerMs = 20 * minute;
  await pass(minute);
  const lateMs = stage.polls.lateMs;
  expect(lateMs).toBeGreaterThan(30 * second);
  await pass(minute);
  expect(stage.polls.lateMs - lateMs).toBe(minute);
  expect(account.poll.activeMs).toBe(10 * second);
});
