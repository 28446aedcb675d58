import { testSeed } from '../setup/seed.js';

/** A source of numbers in [0, 1) that draws the same in each run of a test file (mulberry32). */
export function createRandom(seed = testSeed()): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
