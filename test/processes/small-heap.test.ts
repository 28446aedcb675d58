import { expect, it, onTestFinished } from 'vitest';
import { newRide } from '../sandbox/booking-calls.js';
import { requestedRide } from '../support/ride/rides.js';
import { startFleet } from '../support/worker/fleet.js';

const rides = 340;
/** Just below the bound for a body. Many small fields take more of the heap than one long text. */
const notes = Array.from({ length: 760 }, (_, n) => ({
  n,
  gate: `gate ${n}`,
  text: 'ring twice, wait at the side door',
}));

it(`a worker with a heap limit of 96 MiB survives ${rides} rides with large bodies at a time`, {
  timeout: 400_000,
}, async () => {
  const env = { NODE_OPTIONS: '--max-old-space-size=96' };
  const fleet = await startFleet(1, { env, requestsPerSecond: 100 });
  onTestFinished(() => fleet.close());
  const order = { ...newRide(), notes };
  expect(JSON.stringify(order).length).toBeGreaterThan(55_000);
  await Promise.all(Array.from({ length: rides }, () => requestedRide(fleet.place, { order })));
  await expect.poll(() => fleet.sandbox.createdOrders().length, { timeout: 350_000, interval: 1_000 }).toBe(rides);
  expect(fleet.workers[0]?.output()).not.toContain('OUT_OF_MEMORY');
});
