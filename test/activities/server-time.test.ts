import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { createServerTime } from '../../src/activities/temporal-clock.js';
import { logger, minute, start } from './temporal.js';

const hour = 60 * minute;

interface Scene {
  /** Of the wall clock of the worker. */
  wallAheadMs?: number;
  dueAt?: number;
  /** The best sample of tasks in the last seconds, as an instant. */
  sample?: number;
  startedAt?: number | undefined | Error;
}

/** What an attempt that begins at `start` takes for the server's time, and whether it asked. */
async function timeIn({ wallAheadMs = 0, dueAt = start, sample, startedAt }: Scene) {
  let asked = 0;
  const serverTime = createServerTime({
    now: () => start + wallAheadMs,
    server: { sinceAtLeast: (instant) => (sample === undefined ? undefined : sample - instant) },
    attemptStartedAt: async () => {
      asked += 1;
      if (startedAt instanceof Error) throw startedAt;
      return startedAt;
    },
  });
  const info: Partial<Info> = { currentAttemptScheduledTimestampMs: dueAt };
  const time = await new MockActivityEnvironment(info, { logger }).run(serverTime);
  return { time, asked };
}

it.each<[string, Scene, { time: number; asked: number }]>([
  ['all clocks are right', {}, { time: start, asked: 0 }],
  ['the wall clock is some seconds off', { wallAheadMs: 7_000 }, { time: start, asked: 0 }],
  ['the wall clock is two hours ahead', { wallAheadMs: 2 * hour, startedAt: start }, { time: start, asked: 1 }],
  ['the wall clock is two hours behind', { wallAheadMs: -2 * hour, startedAt: start }, { time: start, asked: 1 }],
  [
    'the attempt waited for a worker for three hours',
    { dueAt: start - 3 * hour, startedAt: start },
    { time: start, asked: 1 },
  ],
  [
    'the attempt waited, and a newer task tells the time',
    { dueAt: start - 3 * hour, sample: start - 200 },
    { time: start - 200, asked: 0 },
  ],
  [
    'a server that crashed started the attempt early',
    { dueAt: start + hour, startedAt: start },
    { time: start, asked: 1 },
  ],
  ['Temporal does not answer', { wallAheadMs: 2 * hour, startedAt: new Error('no answer') }, { time: start, asked: 1 }],
  ['Temporal does not say', { wallAheadMs: 2 * hour, startedAt: undefined }, { time: start, asked: 1 }],
])('the time for others is that of Temporal: %s', async (_, scene, expected) => {
  expect(await timeIn(scene)).toEqual(expected);
});
