import { describe, expect, it } from 'vitest';
import { createTurns, createUsage } from '../../../src/activities/watch/rates.js';
import { pollsPerSecond } from '../../../src/domain/watch.js';
import { account } from './runs.js';
import { mostWithin } from './stage.js';

const { name } = account;
const budget = 16;

/** Polls whenever the share allows it; calls by their rate at each second. Steps of a millisecond. */
function played(seconds: number, callsAt: (second: number) => number) {
  let now = 0;
  const usage = createUsage(() => now);
  const rate = () => pollsPerSecond(budget, { used: usage.perSecond(name), isOnlyOne: true });
  const turns = createTurns(rate, 50, () => now);
  const polls: number[] = [];
  const calls: number[] = [];
  for (let owed = 0; now < seconds * 1_000; now += 1) {
    owed += callsAt(Math.floor(now / 1_000)) / 1_000;
    for (; owed >= 1; owed -= 1) {
      usage.count(name);
      calls.push(now);
    }
    if (turns.take()) polls.push(now);
  }
  const within = (from: number, to: number) => polls.filter((at) => at >= from * 1_000 && at < to * 1_000).length;
  return { polls, calls, within };
}
const together = ({ polls, calls }: ReturnType<typeof played>) => [...polls, ...calls].sort((a, b) => a - b);

describe('other calls of the account', () => {
  const inBurst = (second: number): number => (second >= 20 && second < 30 ? 0.9 * budget : 0);
  const burst = played(60, inBurst);

  it('take from the polls at once, and give back within seconds', () => {
    expect(burst.within(10, 20) / 10).toBeCloseTo(0.9 * budget, 0);
    expect(burst.within(22, 30) / 8).toBeLessThan(0.15 * budget);
    expect(burst.within(21, 22)).toBeLessThan(0.45 * budget);
    expect(burst.within(33, 34)).toBeGreaterThan(0.75 * budget);
    expect(burst.within(35, 45) / 10).toBeCloseTo(0.9 * budget, 0);
  });

  it.each<[string, (second: number) => number]>([
    ['come in a burst', inBurst],
    ['come and go each second', (second) => (second % 2 === 0 ? 0.9 * budget : 0)],
    ['come and go each five seconds', (second) => (second % 10 < 5 ? 0.9 * budget : 0)],
    ['come all the time', () => 0.9 * budget],
    ['are few', () => 0.3 * budget],
  ])('together with polls stay within 1.3 times the budget in any ten seconds when they %s', (_, callsAt) => {
    expect(mostWithin(10_000, together(played(60, callsAt)))).toBeLessThanOrEqual(1.3 * budget * 10);
  });
});

it.each([
  [50, 1],
  [200, 3],
])('after a pause of the process only the turns of %i ms are made up for', (catchUpMs, turnsAtOnce) => {
  let now = 0;
  const turns = createTurns(
    () => 10,
    catchUpMs,
    () => now,
  );
  expect(turns.take()).toBe(true);
  now = 60_000;
  let taken = 0;
  while (turns.take()) taken += 1;
  expect([taken, turns.waitMs()]).toEqual([turnsAtOnce, 100 - (catchUpMs % 100)]);
});
