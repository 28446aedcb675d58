import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTemporalClock, sampleLivesMs } from '../../../src/activities/temporal-clock.js';
import { minute, second, start } from '../temporal.js';

const hour = 60 * minute;

/** A clock that got these samples: the monotonic time in seconds, and how far the server's clock was ahead then. */
function playedTo(seconds: number, samples: readonly [atSecond: number, aheadMs: number][]) {
  let at = 0;
  const clock = createTemporalClock(() => at);
  for (const [atSecond, aheadMs] of samples) {
    at = atSecond * second;
    clock.add(start + at + aheadMs);
  }
  at = seconds * second;
  /** How far the estimate is ahead of the right time. */
  const aheadMs = clock.sinceAtLeast(start);
  return aheadMs === undefined ? undefined : aheadMs - at;
}

it.each<[string, number, [number, number][], number | undefined]>([
  ['there is no sample', 5, [], undefined],
  ['samples are right', 5, [[0, 0]], 0],
  [
    'a task waited in its queue: the better sample counts',
    5,
    [
      [1, -30_000],
      [3, -20],
    ],
    -20,
  ],
  [
    'a better sample came before',
    5,
    [
      [1, -20],
      [3, -30_000],
    ],
    -20,
  ],
  ['the server is an hour ahead', 5, [[1, hour]], hour],
  [
    'the server was an hour ahead and is mended',
    22,
    [
      [1, hour],
      [2, 0],
      [21, 0],
    ],
    0,
  ],
  [
    'the server is an hour behind, mended just now',
    5,
    [
      [1, -hour],
      [4, 0],
    ],
    0,
  ],
  ['the last sample is old', 21, [[1, 0]], undefined],
])('the time of the server where %s', (_, seconds, samples, aheadMs) => {
  expect(playedTo(seconds, samples)).toBe(aheadMs);
});

it('an unreadable instant is no sample', () => {
  const clock = createTemporalClock(() => 0);
  for (const passedAt of [undefined, Number.NaN, Number.POSITIVE_INFINITY]) clock.add(passedAt);
  expect(clock.sinceAtLeast(start)).toBeUndefined();
});

it('whatever the server said before, 20 s of right samples give a time that is never ahead, and behind by the best delay', () => {
  const wrong = fc.array(fc.tuple(fc.nat(100), fc.integer({ min: -2 * hour, max: 2 * hour })), { maxLength: 20 });
  const delays = fc.array(fc.nat(5_000), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(wrong, delays, (before, after) => {
      const mendedAt = 101;
      const [first = 0, ...rest] = after;
      const sorted = before.toSorted(([a], [b]) => a - b);
      const readAt = mendedAt + sampleLivesMs / second + 1;
      const right = [first, ...rest].map((delayMs): [number, number] => [readAt - 1, -delayMs]);
      expect(playedTo(readAt, [...sorted, ...right])).toBe(-Math.min(...after) || 0);
    }),
    { seed: 50, numRuns: 300 },
  );
});
