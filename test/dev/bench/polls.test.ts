import { expect, it } from 'vitest';
import { benchPollMemory } from '../../../dev/bench/poll-memory.js';
import { playPolls } from '../../../dev/bench/ride-polls.js';

const cadence = { activeMs: 1_000, reservedMs: 1_000, pushedMs: 60_000 };
const ride = [
  ['Routing', 0],
  ['Driving', 5_500],
  ['Completed', 9_500],
] as const;
const random = () => 0;

it('a ride that is polled each second is polled to its end', () => {
  expect(playPolls({ ride, cadence, random })).toEqual({ polls: 10, endLateMs: 500 });
});

it('announced changes make polls rare, and a lost delivery about the end is made up for by the next of them', () => {
  expect(playPolls({ ride, cadence, random, announced: [1, 2] })).toEqual({ polls: 7, endLateMs: 0 });
  expect(playPolls({ ride, cadence, random, announced: [1] })).toEqual({ polls: 7, endLateMs: 56_500 });
});

it('an order on watch takes at most 3 kB of the heap', async () => {
  const { rounds } = await benchPollMemory(1);
  expect(rounds[0]?.faretrail).toBeGreaterThan(0.2);
  expect(rounds[0]?.faretrail).toBeLessThan(3);
}, 60_000);
