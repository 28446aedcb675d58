import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { until } from '../stack/run/until.js';
import { closedLoop } from './closed-loop.js';
import { openLoad, quantile } from './open-load.js';
import { startDriving } from './poll-costs.js';
import { alone, atMost, type Measure } from './report.js';
import { type Rounds, repeat } from './rounds.js';
import { pollEvery } from './settings.js';
import { type BenchPlace, openSite, type Site } from './site.js';

const orders = 200;
const perSecond = 3;
const seconds = 60;
const paceMs = 5_000;
const limitMs = 60_000;
const changes = ['Confirmed', 'Waiting', 'Transporting', 'Driving'];

/** Milliseconds from the change at the service to the poll that finds it, and from there until a query answers with the change. */
interface Found {
  toPollMs: number;
  toVisibleMs: number;
}

/** Measures how long after the poll that finds a change a query shows it: an answer, a describe, a signal, a task, a read, a task. */
export async function benchVisible(place: BenchPlace, asked: Rounds): Promise<Measure[]> {
  const results = await repeat(asked, `polls, a change becomes visible, about ${seconds + 20} s`, async () => {
    const site = await openSite(place, { workers: 1, cadence: pollEvery(paceMs) });
    return await measure(site).finally(site.close);
  });
  const measureOf = (what: string, key: keyof Found, share: number): Measure => ({
    name: `${perSecond} changes/s over ${orders} orders polled every ${paceMs / 1_000} s: ${what}`,
    unit: 'ms',
    better: 'lower',
    rounds: alone(results.map((found) => quantile(Float64Array.from(found, (one) => one[key]).sort(), share))),
  });
  return [
    measureOf('change to poll, p50', 'toPollMs', 0.5),
    { ...measureOf('poll to visible status, p50', 'toVisibleMs', 0.5), ...atMost(60, 'ms') },
    measureOf('poll to visible status, p99', 'toVisibleMs', 0.99),
  ];
}

async function measure(site: Site): Promise<Found[]> {
  const names = Array.from({ length: orders }, () => randomUUID());
  await closedLoop({ count: orders, inFlight: 16, limitMs }, (index) =>
    startDriving(site, { at: 'partner', orderId: names[index] ?? '' }),
  );
  await sleep(2 * paceMs);
  const found: Found[] = [];
  await openLoad({ perSecond, seconds }, async (index) => {
    const status = changes[Math.floor(index / orders) % changes.length] ?? 'Driving';
    return found.push(await change(site, names[index % orders] ?? '', status));
  });
  return found;
}

async function change({ client, sandbox }: Site, orderId: string, status: string): Promise<Found> {
  const setAt = Date.now();
  sandbox.setStatus('partner', orderId, status);
  const since = new Date(setAt).toISOString();
  const reads = () => sandbox.ledger({ orderId, since });
  // The poll, and the read of the run. Each query is work for server and worker and delays the change, so the first comes after that.
  const isRead = () => reads().length >= 2;
  await until(`the change of ${orderId} was not read`, isRead, { withinMs: limitMs, everyMs: 10 });
  const pollAt = Date.parse(reads()[0]?.at ?? '');
  const handle = client.workflow.getHandle(`order/partner/${orderId}`);
  const isShown = async () => (await handle.query<OrderTrail>('orderTrail')).status === status;
  await until(`the change of ${orderId} was not seen`, isShown, { withinMs: limitMs, everyMs: 5 });
  return { toPollMs: pollAt - setAt, toVisibleMs: Date.now() - pollAt };
}
