import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { freePort } from '../../local/temporal/free-port.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

const hour = '3600000';
const orders = 60;

let fleet: Fleet;
let metricsUrl: string;
beforeAll(async () => {
  const port = String(await freePort());
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  fleet = await startFleet(1, { env: { FARETRAIL_METRICS_PORT: port, FARETRAIL_POLL_ACTIVE_MS: hour } });
});
afterAll(() => fleet?.close());

const slotsInUse = async (): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text();
  const slots = text.matchAll(/^temporal_worker_task_slots_used\{[^}]*worker_type="WorkflowWorker"[^}]*\} (\d+)/gm);
  return Math.max(0, ...[...slots].map(([, used]) => Number(used)));
};

it('a slow service holds no slot for workflow tasks: other runs go on meanwhile', { timeout: 120_000 }, async () => {
  const { sandbox, place } = fleet;
  const runs = await fleet.followOrders(orders, [['Routing', 0]], ['business']);
  await Promise.all(runs.map((run) => shows(run, { status: 'Routing' })));
  sandbox.setFault({ kind: 'slow', operation: 'orderDetails', delayMs: 4_000 });
  const asked = sandbox.ledger({ operation: 'orderDetails' }).length;
  await Promise.all(runs.map((run) => deliver(run, deliveryOf('Driving'))));
  const answered = () => sandbox.ledger({ operation: 'orderDetails' }).length - asked;
  await vi.waitFor(() => expect(answered()).toBeGreaterThan(orders / 3), patient);
  await sleep(500); // the tasks of the deliveries are over
  const used: number[] = [];
  for (let seen = 0; seen < 10; seen += 1, await sleep(100)) used.push(await slotsInUse());
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'partner', orderId, script: [{ status: 'Completed', afterMs: 0 }] });
  expect(await (await startFollowing(place, { account: 'partner', orderId })).result()).toMatchObject({
    outcome: 'completed',
  });
  console.log(`workflow tasks under way while ${orders} reads were: ${used}`);
  expect(Math.min(...used)).toBeLessThan(3);
  expect(used.sort((a, b) => a - b)[5]).toBeLessThan(10);
  await Promise.all(runs.map((run) => run.terminate()));
});
