import { expect, it } from 'vitest';
import { parseCpuTimes, watchStolenTime } from '../../bench/stolen-time.js';

it('counts what the host took as a part of all time, guests not twice', () => {
  const stat = 'cpu  10 1 20 60 2 3 4 50 7 7\ncpu0 5 0 10 30 1 1 2 25 3 3\nintr 1\n';
  expect(parseCpuTimes(stat)).toEqual({ all: 150, stolen: 50 });
});

it('knows nothing where the system tells nothing', () => {
  expect(parseCpuTimes('')).toBeUndefined();
  expect(watchStolenTime(() => undefined)()).toBe(0);
});

it('tells the share since it was asked last', () => {
  const readings = [
    { all: 100, stolen: 50 },
    { all: 200, stolen: 60 },
    { all: 400, stolen: 60 },
  ];
  const stolenShare = watchStolenTime(() => readings.shift());
  expect([stolenShare(), stolenShare()]).toEqual([0.1, 0]);
});
