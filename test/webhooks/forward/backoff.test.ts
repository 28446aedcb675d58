import { describe, expect, it } from 'vitest';
import { createBackoff } from '../../../src/webhooks/forward/plan.js';

describe('the back-off of a group', () => {
  it('doubles from one second to thirty, and starts again after a success', () => {
    const backoff = createBackoff<string>(() => 1);
    const waits = Array.from({ length: 8 }, () => {
      backoff.failed('a', 0);
      return [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000].find((ms) => backoff.takeDue(ms).length > 0);
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    backoff.succeeded('a');
    backoff.failed('a', 0);
    expect(backoff.takeDue(1_000)).toEqual(['a']);
  });

  it('is spread, at least half of its time', () => {
    const backoff = createBackoff<string>(() => 0);
    backoff.failed('a', 0);
    expect([backoff.takeDue(499), backoff.takeDue(500)]).toEqual([[], ['a']]);
  });

  it('gives a group once, and then waits to hear how it went', () => {
    const backoff = createBackoff<string>();
    backoff.failed('a', 0);
    expect(backoff.isWaiting('a')).toBe(true);
    expect(backoff.takeDue(60_000)).toEqual(['a']);
    expect([backoff.isWaiting('a'), backoff.takeDue(60_000)]).toEqual([false, []]);
  });
});
