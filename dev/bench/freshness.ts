import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.js';
import type { IngressOptions } from './acknowledge.js';
import { type HttpLanes, openLanes } from './http-lanes.js';
import { type IngressSite, openSite } from './ingress-place.js';
import { openLoad, quantile } from './open-load.js';
import type { Measure } from './report.js';
import { mean } from './statistics.js';
import { requestMaker } from './webhook-load.js';
import { startWorkerProcess } from './worker-process.js';

export const orders = 200;
const perSecondByDefault = 20;
const seconds = 30;
const hour = 3_600_000;
/** Each query is work for server and worker and delays the change, so the first comes after the read of the order. */
const askEveryMs = 5;
const limitMs = 20_000;
export const changes = ['Confirmed', 'Driving', 'Waiting', 'Transporting'];

interface FreshFigures {
  p50: number;
  p99: number;
  eventsPerChange: number;
}

/** Measures the time from a delivery until a query answers the new status: ingress, Temporal, worker and a read. */
export async function benchFreshness(options: IngressOptions): Promise<Measure[]> {
  const { place, rounds, changesPerSecond: perSecond = perSecondByDefault, say } = options;
  const results: FreshFigures[] = [];
  const cadence = { activeMs: hour, reservedMs: hour, pushedMs: hour };
  for (let round = 0; round < rounds; round += 1) {
    say(`freshness: round ${round + 1} of ${rounds}, about ${seconds + 20} s`);
    const sandbox = await startSandbox();
    const site = await openSite(place, { sandboxUrl: sandbox.url, cadence });
    try {
      results.push(await measure(site, sandbox, perSecond));
    } finally {
      await site.close();
      await sandbox.close();
    }
  }
  const rounded = (key: keyof FreshFigures) => results.map((one) => ({ faretrail: one[key], plain: Number.NaN }));
  const name = `${perSecond} changes/s over ${orders} live orders, delivery to visible status`;
  const goal = (limit: number) => ({ text: `at most ${limit} ms`, of: 'value' as const, limit });
  return [
    { name: `${name}: p50`, unit: 'ms', better: 'lower', rounds: rounded('p50'), goal: goal(35) },
    { name: `${name}: p99`, unit: 'ms', better: 'lower', rounds: rounded('p99'), goal: goal(100) },
    {
      name: 'history events per announced change',
      unit: '',
      better: 'lower',
      rounds: rounded('eventsPerChange'),
      goal: { text: 'at most 12', of: 'value', limit: 12 },
    },
  ];
}

/** The names of the orders, unique since other rounds may use the same server. */
export type NameOf = (index: number) => string;
export function orderNames(): NameOf {
  const round = randomUUID();
  return (index) => `order-${index % orders}-${round}`;
}

async function measure(site: IngressSite, sandbox: Sandbox, perSecond: number): Promise<FreshFigures> {
  const address = site.env.TEMPORAL_ADDRESS ?? '';
  const worker = await startWorkerProcess({ side: 'faretrail', address, env: site.env, trackerCodePath: '' });
  const ingress = await site.startIngress();
  const nameOf = orderNames();
  const lanes = await openLanes(ingress.port, 16);
  try {
    await followAll(site, sandbox, nameOf);
    const before = await events(site.client, nameOf);
    const make = requestMaker(ingress.port);
    const { latencies } = await openLoad({ perSecond, seconds }, (index) =>
      change(index, { client: site.client, sandbox, lanes, make, nameOf }),
    );
    const added = (await events(site.client, nameOf)) - before;
    return {
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
      eventsPerChange: added / latencies.length,
    };
  } finally {
    lanes.close();
    await ingress.stop();
    await worker.stop();
  }
}

/** Has all orders followed, and waits until workers have read each. */
export async function followAll({ followOrder }: IngressSite, sandbox: Sandbox, nameOf: NameOf): Promise<void> {
  for (let index = 0; index < orders; index += 1) {
    const script = [{ status: 'Routing', afterMs: 0 }];
    sandbox.addOrder({ interface: 'business', orderId: nameOf(index), script });
    await followOrder(nameOf(index));
  }
  const deadline = Date.now() + limitMs * 3;
  while (sandbox.counts().byOperation.orderDetails < orders) {
    if (Date.now() > deadline) throw new Error('the orders were not read in time');
    await sleep(100);
  }
}

interface Scene {
  client: Client;
  sandbox: Sandbox;
  lanes: HttpLanes;
  make: ReturnType<typeof requestMaker>;
  nameOf: NameOf;
}

async function change(index: number, { client, sandbox, lanes, make, nameOf }: Scene): Promise<number> {
  const orderId = nameOf(index);
  const status = changes[Math.floor(index / orders) % changes.length] ?? 'Driving';
  const reads = () => sandbox.ledger({ operation: 'orderDetails', orderId }).length;
  const readsBefore = reads();
  sandbox.setStatus('business', orderId, status);
  const answer = await lanes.send(make(orderId, status));
  const handle = client.workflow.getHandle(`order/business/${orderId}`);
  await until(() => reads() > readsBefore);
  await until(async () => (await handle.query<OrderTrail>('orderTrail')).status === status);
  return answer;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`a change was not seen within ${limitMs} ms`);
    await sleep(askEveryMs);
  }
}

async function events(client: Client, nameOf: NameOf): Promise<number> {
  const lengths = await Promise.all(
    Array.from({ length: orders }, async (_, index) => {
      const { historyLength } = await client.workflow.getHandle(`order/business/${nameOf(index)}`).describe();
      return historyLength;
    }),
  );
  return orders * mean(lengths);
}
