import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(isLong ? 3 : 0, { env: { FARETRAIL_POLL_ACTIVE_MS: '500' } });
}, 120_000);
afterAll(() => fleet.close(), 60_000);

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

it('a worker that is told to stop ends its calls, then exits with 0', async () => {
  fleet.sandbox.setFault({ kind: 'slow', delayMs: 2_000 });
  const worker = await fleet.addWorker();
  const handles = await fleet.followOrders(5, [['Completed', 0]]);
  await expect.poll(() => fleet.sandbox.counts().byOperation.orderStatus).toBeGreaterThan(0);
  expect(await worker.stop()).toBe(0);
  expect(worker.output()).toContain('worker stopped');
  fleet.sandbox.clearFaults();
  await fleet.addWorker(); // takes over what is left to do
  await Promise.all(handles.map((handle) => handle.result()));
}, 120_000);
