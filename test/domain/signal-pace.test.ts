import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSignalPace, msToSignal, withSignal } from '../../src/domain/signal-pace.js';

const windowMs = 600_000;
const seed = 20_261_128;

/**
 * The times of signals for items that arrive after these pauses, each with all items so far, and the wait of each item.
 */
function played(gaps: readonly number[]) {
  const sentAt: number[] = [];
  const waits: number[] = [];
  let [now, counted, waiting] = [0, [] as number[], [] as number[]];
  const send = () => {
    counted = withSignal(counted, now);
    sentAt.push(now);
    waits.push(...waiting.map((at) => now - at));
    waiting = [];
  };
  const passTo = (end: number) => {
    for (
      let at = now + msToSignal(counted, now);
      waiting.length > 0 && at <= end;
      at = now + msToSignal(counted, now)
    ) {
      now = at;
      send();
    }
    now = end;
  };
  for (const gap of gaps) {
    passTo(now + gap);
    waiting.push(now);
    if (msToSignal(counted, now) === 0) send();
  }
  passTo(now + windowMs);
  return { sentAt, waits };
}

const mostIn = (sentAt: readonly number[]) =>
  Math.max(0, ...sentAt.map((from) => sentAt.filter((at) => at >= from && at < from + windowMs).length));

const gap = fc.oneof(fc.nat(20), fc.nat(3_000), fc.nat(60_000), fc.constant(windowMs));

it('a run gets at most 40 signals in any ten minutes, and each item goes within half a minute', () => {
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 600 }), (gaps) => {
      const { sentAt, waits } = played(gaps);
      expect(waits).toHaveLength(gaps.length);
      expect(mostIn(sentAt)).toBeLessThanOrEqual(40);
      expect(Math.max(0, ...waits)).toBeLessThanOrEqual(30_000);
      expect(waits.slice(0, 10)).toEqual(gaps.slice(0, 10).map(() => 0));
    }),
    { seed, numRuns: 300 },
  );
});

it('a run that something signals without end gets 36 signals in the first ten minutes, and 23 or 24 in each later ten', () => {
  const { sentAt } = played(Array.from({ length: 36_000 }, () => 100));
  const inWindow = (n: number) => sentAt.filter((at) => Math.floor(at / windowMs) === n).length;
  expect([0, 1, 2, 3, 4, 5].map(inWindow)).toEqual([36, 24, 23, 23, 23, 23]);
});

it('a run that got no signal for ten minutes may have the next few at once', () => {
  const { waits } = played([
    ...Array.from({ length: 50 }, () => 0),
    2 * windowMs,
    ...Array.from({ length: 9 }, () => 0),
  ]);
  expect(waits.slice(-10)).toEqual(Array.from({ length: 10 }, () => 0));
});

it('each run has its own pace, and is forgotten after ten minutes', () => {
  let now = 0;
  const pace = createSignalPace(() => now);
  for (let count = 0; count < 12; count += 1) pace.count('flooded');
  pace.count('other');
  expect([pace.waitMs('flooded'), pace.waitMs('other'), pace.waitMs('new')]).toEqual([6_000, 0, 0]);
  now = windowMs + 1;
  pace.count('new');
  expect(pace.size()).toBe(1);
});

it('a signal that cannot have arrived does not count', () => {
  const pace = createSignalPace(() => 0);
  for (let count = 0; count < 100; count += 1) pace.count('refused')();
  expect([pace.waitMs('refused'), pace.size()]).toEqual([0, 0]);
});

it('of very many runs, those that were signalled longest ago are forgotten first', () => {
  let now = 0;
  const pace = createSignalPace(() => now);
  for (let count = 0; count < 12; count += 1) pace.count('early');
  for (let id = 0; id < 100_000; id += 1) {
    now += 1;
    pace.count(`${id}`);
    if (id === 99_990) for (let count = 0; count < 12; count += 1) pace.count('busy');
  }
  expect([pace.size(), pace.waitMs('early'), pace.waitMs('busy') > 0]).toEqual([100_000, 0, true]);
});
