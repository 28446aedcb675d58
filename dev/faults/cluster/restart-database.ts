import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { openLanes } from '../../bench/http-lanes.js';
import { type IngressSite, openSite } from '../../bench/ingress-place.js';
import { openLoad } from '../../bench/open-load.js';
import { requestMaker } from '../../bench/webhook-load.js';
import { startWorkerProcess } from '../../bench/worker-process.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import type { Report } from '../../stack/temporal/run-command.js';
import { arrived, faultOf, type LedOrder } from './order-fault.js';
import type { Cluster, OnEnd } from './start-cluster.js';
import type { Tally } from './tally.js';

const before = 60;
const meanwhile = 20;
const perSecond = 20;
const first = 'Routing';
const changes = ['Confirmed', 'Driving', 'Waiting', 'Transporting'];
const seconds = (before * changes.length) / perSecond;
const restartAfterMs = 4_000;
const seenWithinMs = 120_000;
const cadence = { activeMs: 2_000, reservedMs: 2_000, pushedMs: 2_000 };
const accepted = 202;

interface Order extends LedOrder {
  statuses: string[];
}

interface Scene {
  site: IngressSite;
  sandbox: Sandbox;
  orders: Order[];
  say: Report;
}

/** Starts, changes and announces orders while the database cuts every connection once. Then judges each order. */
export async function restartDatabase({ address, postgres }: Cluster, say: Report, onEnd: OnEnd): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-restart-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const sandbox = await startSandbox();
  const site = await openSite({ folder, temporal: { address } }, { sandboxUrl: sandbox.url, cadence });
  const worker = { side: 'faretrail', address, env: site.env, trackerCodePath: '' } as const;
  const workers = await Promise.all([startWorkerProcess(worker), startWorkerProcess(worker)]);
  const scene: Scene = { site, sandbox, orders: [], say };
  try {
    say(`restart: ${before} orders, two workers, an ingress, ${perSecond} changes per second`);
    await Promise.all(Array.from({ length: before }, () => startOrder(scene)));
    await changeThroughRestart(scene, async () => {
      await postgres.stop();
      await postgres.start();
    });
    for (const order of scene.orders) setStatus(scene, order, 'Completed');
    return await judge(scene);
  } finally {
    await Promise.all(workers.map((one) => one.stop()));
    await site.close();
    await sandbox.close();
  }
}

async function startOrder({ site, sandbox, orders }: Scene): Promise<void> {
  const order: Order = { orderId: randomUUID(), statuses: [], acknowledged: 0 };
  order.statuses.push(first);
  sandbox.addOrder({ interface: 'business', orderId: order.orderId, script: [{ status: first, afterMs: 0 }] });
  await site.followOrder(order.orderId);
  orders.push(order);
}

/** Sends the load, also while the database is away. */
async function changeThroughRestart(scene: Scene, restart: () => Promise<void>): Promise<void> {
  const { site, orders, say } = scene;
  const ingress = await site.startIngress();
  const lanes = await openLanes(ingress.port, 16);
  const make = requestMaker(ingress.port);
  let restartedAt = Number.POSITIVE_INFINITY;
  let slowestMs = 0;
  const load = openLoad({ perSecond, seconds }, async (index) => {
    const order = orders[index % before];
    if (!order) throw new Error('there are no orders');
    const status = changes[Math.floor(index / before)] ?? first;
    setStatus(scene, order, status);
    const sentAt = performance.now();
    const answer = await lanes.send(make(order.orderId, status));
    if (sentAt > restartedAt) slowestMs = Math.max(slowestMs, msSince(sentAt));
    if (answer === accepted) order.acknowledged += 1;
    return answer;
  });
  await pause(restartAfterMs);
  restartedAt = performance.now();
  const starts = Promise.all(Array.from({ length: meanwhile }, () => startOrder(scene)));
  await restart();
  const awayMs = performance.now() - restartedAt;
  await starts;
  say(
    `restart: away for ${Math.round(awayMs)} ms; ${meanwhile} orders begun meanwhile took ${msSince(restartedAt)} ms`,
  );
  const { statuses } = await load;
  const answers = [...statuses].map(([status, count]) => `${count} times ${status}`).join(', ');
  say(`restart: deliveries answered ${answers}, from the restart on within ${slowestMs} ms`);
  await seen(scene);
  say(`restart: every change and delivery is in its order ${msSince(restartedAt)} ms after the database went`);
  lanes.close();
  await ingress.stop();
}

const msSince = (start: number): number => Math.round(performance.now() - start);

/** Waits until every order has its last status and its deliveries, or the time is over. `judge` reports what is missing. */
async function seen({ site, orders }: Scene): Promise<void> {
  const deadline = Date.now() + seenWithinMs;
  for (const { orderId, statuses, acknowledged } of orders) {
    const handle = site.client.workflow.getHandle(`order/business/${orderId}`);
    const isUpToDate = async () => {
      const trail = await handle.query<OrderTrail>('orderTrail');
      return trail.status === statuses.at(-1) && arrived(trail) >= acknowledged;
    };
    while (Date.now() < deadline && !(await isUpToDate())) await pause(100);
  }
}

function setStatus({ sandbox }: Scene, { orderId, statuses }: Order, status: string): void {
  statuses.push(status);
  sandbox.setStatus('business', orderId, status);
}

async function judge({ site, orders, say }: Scene): Promise<Tally> {
  let failed = 0;
  for (const order of orders) {
    const handle = site.client.workflow.getHandle(`order/business/${order.orderId}`);
    const fault = faultOf(order, await handle.result());
    if (fault === undefined) continue;
    failed += 1;
    say(`restart: WRONG ${order.orderId} ${fault}`);
  }
  return { passed: orders.length - failed, failed };
}
