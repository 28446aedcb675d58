import fc from 'fast-check';
import { expect, it } from 'vitest';
import { links } from '../../chaos/stage.js';
import { disturbancesOf } from '../../counterparts/proxies.js';
import { forAny } from '../support/for-any.js';

const minute = 60_000;
const seeds = fc.integer({ min: 1, max: 2 ** 31 });

it('the same seed gives the same disturbances, another seed gives others', () => {
  expect(disturbancesOf(7, minute)).toEqual(disturbancesOf(7, minute));
  expect(disturbancesOf(8, minute)).not.toEqual(disturbancesOf(7, minute));
});

it('a connection has one disturbance at a time, and a second of rest after each', () => {
  forAny(seeds, fc.integer({ min: 30_000, max: 20 * minute }), (seed, forMs) => {
    for (const link of links) {
      const ofLink = disturbancesOf(seed, forMs).filter((one) => one.link === link);
      for (const [i, { atMs, lastsMs }] of ofLink.entries()) {
        expect(atMs).toBeLessThan(forMs);
        expect(ofLink[i + 1]?.atMs ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(atMs + lastsMs + 1_000);
      }
    }
  });
});

it('in ten minutes each connection meets every kind, and is half open once for longer than gRPC bears', () => {
  forAny(seeds, (seed) => {
    const all = disturbancesOf(seed, 10 * minute);
    for (const link of links) {
      const ofLink = all.filter((one) => one.link === link);
      expect(new Set(ofLink.map(({ kind }) => kind)).size).toBe(6);
      expect(ofLink.filter(({ kind, lastsMs }) => kind === 'half open' && lastsMs > 45_000)).toHaveLength(1);
    }
  });
});
