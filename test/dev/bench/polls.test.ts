import { expect, it } from 'vitest';
import { benchPollMemory } from '../../../dev/bench/poll-memory.js';

it('an order on watch takes at most 3 kB of the heap', async () => {
  const { rounds } = await benchPollMemory(1);
  expect(rounds[0]?.faretrail).toBeGreaterThan(0.2);
  expect(rounds[0]?.faretrail).toBeLessThan(3);
}, 60_000);
