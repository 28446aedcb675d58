import { expect, it, onTestFinished } from 'vitest';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { requestedRide } from '../support/ride/rides.js';
import { startFleet } from '../support/worker/fleet.js';

const rides = isLong ? 340 : 120;
/** Nearly as long as a body may be. Empty objects take twenty times their length of the heap. */
const order = { ...newRide(), notes: Array.from({ length: 20_000 }, () => ({})) };

it(`a worker with a heap limit of 96 MiB survives ${rides} rides with large bodies that wait for the service`, {
  timeout: 600_000,
}, async () => {
  const env = { NODE_OPTIONS: '--max-old-space-size=96' };
  const fleet = await startFleet(1, { env, requestsPerSecond: 8 });
  onTestFinished(() => fleet.close());
  await Promise.all(Array.from({ length: rides }, () => requestedRide(fleet.place, { order })));
  const ordered = () => fleet.sandbox.createdOrders().length;
  const isFull = () => /out.of.memory/i.test(fleet.workers[0]?.output() ?? '');
  await expect.poll(() => isFull() || ordered() === rides, { timeout: 500_000, interval: 500 }).toBe(true);
  expect({ isFull: isFull(), ordered: ordered() }).toEqual({ isFull: false, ordered: rides });
});
