import { describe, expect, it } from 'vitest';
import { dayModes, simulateDay } from '../../bench/day.js';

describe('a simulated day', () => {
  const roomy = { orders: 2_000, accounts: 1, requestsPerSecond: 1_000 };
  const [polled, announced] = dayModes.map((mode) => simulateDay(roomy, mode));

  it('sees ends late by the pace of polls, and announced ones at once', () => {
    expect(polled?.endLate.p99).toBeLessThan(66); // the slowest pace of an active order, and its jitter
    expect(polled?.endLate.p50).toBeGreaterThan(1);
    expect(announced?.endLate.p99).toBeLessThanOrEqual(1);
  });

  it('has three times the mean of starts at its peak', () => {
    const { mean = 0, peak = 0 } = polled?.startsPerSecond ?? {};
    expect(mean * 86_400).toBeGreaterThan(1_900);
    expect(peak / mean).toBeGreaterThan(2.5);
  });

  it('makes fewer polls when changes are announced', () => {
    expect(announced?.pollsPerSecond.mean).toBeLessThan((polled?.pollsPerSecond.mean ?? 0) / 4);
  });

  it('has the actions of changes and of heartbeats, and none for polls', () => {
    const { cloudActions = 0, pollsPerSecond } = polled ?? {};
    expect(cloudActions - 3_600).toBeGreaterThan(2_000 * 20);
    expect(cloudActions - 3_600).toBeLessThanOrEqual(2_000 * (3 + 3 * 8));
    expect((pollsPerSecond?.mean ?? 0) * 86_400).toBeGreaterThan(cloudActions);
  });

  it('keeps to the budget of an account; then polls wait', () => {
    const tight = simulateDay({ orders: 2_000, accounts: 1, requestsPerSecond: 2 }, 'only polls');
    expect(tight.budgetUsed).toBeLessThanOrEqual(1);
    expect(tight.pollWait.p50).toBeGreaterThan(1);
    expect(polled?.pollWait.p99).toBe(0);
  });

  it('is the same day each time', () => {
    expect(simulateDay(roomy, 'announced')).toEqual(announced);
  });
});
