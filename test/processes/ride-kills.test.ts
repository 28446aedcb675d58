import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { goesOn, type RideRun, requestedRide, shortLimits, stands } from '../support/ride/rides.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
}, 120_000);
afterAll(() => fleet.close(), 60_000);
beforeEach(() => {
  fleet.sandbox.clearFaults();
  fleet.sandbox.setBookingSettings({ script: goesOn, receiptChangesAfterMs: null });
});

/** kill -9, and another worker in its place. */
async function replaceWorker(): Promise<void> {
  await fleet.workers.splice(0)[0]?.kill();
  await fleet.addWorker();
}

async function requested() {
  const config = { taskQueue: fleet.env.FARETRAIL_TASK_QUEUE ?? '' };
  const { handle, requestId } = await requestedRide(
    { client: fleet.client, config } as never,
    { receipt: true },
    {
      limits: { ...shortLimits, firstReceiptMs: 120_000, receiptAtMostMs: 120_000 },
    },
  );
  const orders = () => fleet.sandbox.createdOrders().filter((order) => order.requestId?.endsWith(requestId));
  return { handle, orders };
}

async function cancelledOnce(handle: RideRun, orders: () => unknown[]): Promise<void> {
  const receipt = { payment_summary: { total_inc_tax: '5.50' } };
  expect(await handle.result()).toMatchObject({ outcome: 'cancelled', receipt });
  expect(orders()).toHaveLength(1);
}

it('a ride outlives kill -9 of its worker while its order is followed: one order, cancelled, receipt read', async () => {
  const { handle, orders } = await requested();
  await stands(handle, { stage: 'following', status: 'Routing' });
  await replaceWorker();
  await handle.executeUpdate('cancelRide');
  await cancelledOnce(handle, orders);
}, 120_000);
