import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { goesOn, requestedRide, shortLimits, stands } from '../support/ride/rides.js';
import { useFleet } from '../support/worker/fleet.js';

const fleet = useFleet(isLong ? 3 : 1, { env: { FARETRAIL_POLL_ACTIVE_MS: '500' } });

/** Each time another worker takes the place of the killed one. */
async function killTen(): Promise<void> {
  for (let kills = 0; kills < 10; kills += 1) {
    await sleep(1_000 * Math.random());
    const [victim] = fleet.workers.splice(Math.floor(Math.random() * fleet.workers.length), 1);
    await victim?.kill();
    await fleet.addWorker();
  }
}

// Every run of the tests has the fault suite instead (chaos.test.ts).
it.runIf(isLong)(
  '100 orders end rightly although workers are killed with -9 twenty times',
  async () => {
    const script: [string, number][] = [
      ['Pending', 0],
      ['Routing', 4_000],
      ['Confirmed', 10_000],
      ['Driving', 18_000],
      ['Completed', 28_000],
    ];
    const handles = await fleet.followOrders(100, script);
    await Promise.all([killTen(), killTen()]); // of three workers, one at least is left
    const trails = await Promise.all(handles.map((handle) => handle.result()));
    for (const trail of trails) {
      expect(trail).toMatchObject({ outcome: 'completed', status: 'Completed', attention: null });
      const statuses = trail.timeline.map(({ status }) => status);
      // While no worker looks, a status may come and go; what was seen is in its order, once.
      expect(statuses).toEqual(script.map(([status]) => status).filter((status) => statuses.includes(status)));
    }
    // An order has one token lease, whoever dies: what was obtained is kept by Temporal, not by the worker.
    expect(fleet.sandbox.counts().tokensIssued).toBeLessThanOrEqual(2 + 2);
  },
  300_000,
);

it('a ride outlives kill -9 of its worker while its order is followed: one order, cancelled, receipt read', async () => {
  fleet.sandbox.setBookingSettings({ script: goesOn, receiptChangesAfterMs: null });
  const limits = { ...shortLimits, firstReceiptMs: 120_000, receiptAtMostMs: 120_000 };
  const { handle, requestId } = await requestedRide(fleet.place, { receipt: true }, { limits });
  await stands(handle, { stage: 'following', status: 'Routing' });
  await Promise.all(fleet.workers.splice(0).map((worker) => worker.kill()));
  await fleet.addWorker();
  await handle.executeUpdate('cancelRide');
  const receipt = { payment_summary: { total_inc_tax: '5.50' } };
  expect(await handle.result()).toMatchObject({ outcome: 'cancelled', receipt });
  expect(fleet.sandbox.createdOrders().filter((order) => order.requestId?.endsWith(requestId))).toHaveLength(1);
}, 120_000);

it('a worker that is told to stop ends its calls, then exits with 0', async () => {
  fleet.sandbox.setFault({ kind: 'slow', delayMs: 2_000 });
  const workers = fleet.workers.splice(0);
  const startedAt = new Date().toISOString();
  const handles = await fleet.followOrders(5, [['Completed', 0]], ['partner']);
  await expect
    .poll(() => fleet.sandbox.ledger({ operation: 'orderStatus', since: startedAt }).length)
    .toBeGreaterThan(0);
  for (const code of await Promise.all(workers.map((worker) => worker.stop()))) expect(code).toBe(0);
  for (const worker of workers) expect(worker.output()).toContain('worker stopped');
  fleet.sandbox.clearFaults();
  await fleet.addWorker(); // takes over what is left to do
  await Promise.all(handles.map((handle) => handle.result()));
}, 120_000);
