import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { until } from '../stack/run/until.js';
import type { IngressOptions } from './acknowledge.js';
import { openLoad, quantile } from './open-load.js';
import { alone, atMost, type Measure } from './report.js';
import { repeat } from './rounds.js';
import { noPolls } from './settings.js';
import { type BenchPlace, openSite, type Site, type SiteOptions } from './site.js';
import { mean } from './statistics.js';
import { openDoor } from './webhook-load.js';

const orders = 200;
const perSecondByDefault = 20;
const seconds = 30;
/** Each query is work for server and worker and delays the change, so the first comes after the read of the order. */
const soon = { withinMs: 20_000, everyMs: 5 };
const changes = ['Confirmed', 'Driving', 'Waiting', 'Transporting'];

/** Measures the time from a delivery until a query answers the new status: ingress, Temporal, worker and a read. */
export async function benchFreshness(options: IngressOptions): Promise<Measure[]> {
  const { place, changesPerSecond: perSecond = perSecondByDefault, ...asked } = options;
  const results = await repeat(asked, `freshness, about ${seconds + 20} s`, () =>
    changeAll(place, { perSecond }, ({ client, sandbox }, orderId, status) => {
      const reads = () => sandbox.ledger({ operation: 'orderDetails', orderId }).length;
      const readsBefore = reads();
      const handle = client.workflow.getHandle(`order/business/${orderId}`);
      return async () => {
        await until(`${orderId} was not read`, () => reads() > readsBefore, soon);
        const isShown = async () => (await handle.query<OrderTrail>('orderTrail')).status === status;
        await until(`${orderId} does not show ${status}`, isShown, soon);
      };
    }),
  );
  const rounds = (key: 'p50' | 'p99' | 'eventsPerChange') => alone(results.map((one) => one[key]));
  const name = `${liveChanges(perSecond)}, delivery to visible status`;
  return [
    { name: `${name}: p50`, unit: 'ms', better: 'lower', rounds: rounds('p50'), ...atMost(35, 'ms') },
    { name: `${name}: p99`, unit: 'ms', better: 'lower', rounds: rounds('p99'), ...atMost(100, 'ms') },
    {
      ...{ name: 'history events per announced change', unit: '', better: 'lower', rounds: rounds('eventsPerChange') },
      ...atMost(12),
    },
  ];
}

export const liveChanges = (perSecond: number): string => `${perSecond} changes/s over ${orders} live orders`;

/** Watches for a change of this order, from before it is made. What it gives waits for the change, once the delivery was answered. */
type Watch = (site: Site, orderId: string, status: string) => () => Promise<void>;

/** Announces changes of live orders at a fixed rate. Measures from each delivery until what `watch` waits for. */
export async function changeAll(
  place: BenchPlace,
  { perSecond, ...options }: { perSecond: number } & SiteOptions,
  watch: Watch,
) {
  const site = await openSite(place, { ...options, workers: 1, cadence: noPolls });
  const door = await openDoor(site.startIngress(), 16);
  const round = randomUUID(); // other rounds may use the same server
  const names = Array.from({ length: orders }, (_, index) => `order-${index}-${round}`);
  try {
    await followAll(site, names);
    const before = await events(site.client, names);
    const { latencies } = await openLoad({ perSecond, seconds }, async (index) => {
      const orderId = names[index % orders] ?? '';
      const status = changes[Math.floor(index / orders) % changes.length] ?? 'Driving';
      const seen = watch(site, orderId, status);
      site.sandbox.setStatus('business', orderId, status);
      const answer = await door.deliver(orderId, status);
      await seen();
      return answer;
    });
    const eventsPerChange = ((await events(site.client, names)) - before) / latencies.length;
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), eventsPerChange };
  } finally {
    await door.close();
    await site.close();
  }
}

/** Waits until workers have read each order. */
async function followAll({ followOrder, sandbox }: Site, names: readonly string[]): Promise<void> {
  for (const orderId of names) {
    sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Routing', afterMs: 0 }] });
    await followOrder(orderId);
  }
  const areRead = () => sandbox.counts().byOperation.orderDetails >= orders;
  await until('the orders were not read in time', areRead, { withinMs: 60_000 });
}

async function events(client: Client, names: readonly string[]): Promise<number> {
  const runs = names.map((orderId) => client.workflow.getHandle(`order/business/${orderId}`).describe());
  return orders * mean((await Promise.all(runs)).map(({ historyLength }) => historyLength));
}
