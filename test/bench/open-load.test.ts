import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openLoad } from '../../bench/open-load.js';

it('counts from the moment at which a request was due, and by status', async () => {
  const { latencies, statuses } = await openLoad({ perSecond: 100, seconds: 0.2 }, async (index) => {
    await sleep(20);
    return index % 2 === 0 ? 202 : 503;
  });
  expect(Object.fromEntries(statuses)).toEqual({ 202: 10, 503: 10 });
  expect(latencies).toHaveLength(20);
  expect(latencies[0]).toBeGreaterThan(15);
});

// Whoever calls must get to its own cleaning up: processes would stay behind.
it('ends with the first error when all that was under way has ended', async () => {
  let under = 0;
  const load = openLoad({ perSecond: 200, seconds: 60 }, async (index) => {
    under += 1;
    await sleep(30);
    under -= 1;
    if (index >= 3) throw new Error(`request ${index}`);
    return 202;
  });
  await expect(load).rejects.toThrow('request 3');
  expect(under).toBe(0);
});
