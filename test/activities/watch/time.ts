import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterEach, beforeEach, vi } from 'vitest';
import { start } from '../temporal.js';

const realPause = timers.setTimeout;

/** A pause in the time of the test; vitest's does not reach this module. */
const pause: typeof realPause = (ms, value, { signal } = {}) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value as never);
    }, ms);
    function stop(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', stop, { once: true });
  });

function setPause(to: typeof realPause): void {
  timers.setTimeout = to;
  syncBuiltinESMExports();
}

/** Each test of the file begins at `start`, and its time passes only by `pass`. */
export function useOwnTime(): void {
  let faked: typeof setTimeout;
  beforeEach(() => {
    vi.useFakeTimers({ now: start, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    faked = setTimeout;
    const within = faked;
    // As Node does it, or a wait of half a millisecond would never end.
    const whole = (act: () => void, ms = 0) => within(act, Math.max(1, Math.trunc(ms)));
    globalThis.setTimeout = whole as typeof setTimeout;
    setPause(pause);
  });
  afterEach(() => {
    setPause(realPause);
    globalThis.setTimeout = faked; // vitest puts the real one back in the place of its own only
    vi.useRealTimers();
  });
}

/** Lets everything happen that waits for no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets so much time pass. Faster than vitest's own way, which waits a real millisecond for each timer. */
export async function pass(ms: number): Promise<void> {
  let isOver = false;
  await settle();
  setTimeout(() => {
    isOver = true;
  }, ms);
  while (!isOver) {
    vi.advanceTimersToNextTimer();
    await settle();
  }
}
