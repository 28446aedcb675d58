import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startSandbox } from '../sandbox/sandbox.js';
import { type Postgres, startPostgres } from '../stack/postgres/postgres.js';
import { changes, followAll, orderNames, orders } from './freshness.js';
import { openLanes } from './http-lanes.js';
import { type IngressPlace, openSite } from './ingress-place.js';
import { openLoad, quantile } from './open-load.js';
import { measureOrders, type OrderFigures, type OrdersOptions } from './orders.js';
import { type Measure, type Summary, summarize } from './report.js';
import { requestMaker } from './webhook-load.js';
import { startWorkerProcess } from './worker-process.js';

const perSecond = 20;
const seconds = 30;
const hour = 3_600_000;
const cadence = { activeMs: hour, reservedMs: hour, pushedMs: hour };

interface Round {
  stored: OrderFigures;
  without: OrderFigures;
  p50: number;
  p99: number;
}

/** What recording changes in PostgreSQL costs, and how soon a delivered change is a row. */
export async function benchStore({ temporal, rounds, orders: count, say }: OrdersOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  const data = mkdtempSync(join(tmpdir(), 'faretrail-bench-store-'));
  const postgres = await startPostgres(data, say);
  const place = { folder, temporal };
  const env = { FARETRAIL_STORE_URL: postgres.url };
  try {
    const results: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      say(`store: round ${round + 1} of ${rounds}, about ${Math.round(110 + count / 10)} s`);
      const options = { place, trackerCodePath: '', orders: count };
      const measured: Partial<Pick<Round, 'stored' | 'without'>> = {};
      for (const side of round % 2 === 0 ? (['stored', 'without'] as const) : (['without', 'stored'] as const))
        measured[side] = await measureOrders('faretrail', side === 'stored' ? { ...options, env } : options);
      results.push({ ...(measured as Required<typeof measured>), ...(await rowLatency(place, postgres, env)) });
    }
    return toMeasures(results).map(summarize);
  } finally {
    await postgres.stop();
    for (const one of [folder, data]) rmSync(one, { recursive: true, force: true });
  }
}

/** From the delivery of a change until its row is committed, at a fixed rate over live orders. */
async function rowLatency(place: IngressPlace, postgres: Postgres, env: Record<string, string>) {
  const sandbox = await startSandbox();
  const site = await openSite(place, { sandboxUrl: sandbox.url, cadence });
  const address = site.env.TEMPORAL_ADDRESS ?? '';
  const worker = await startWorkerProcess({
    ...{ side: 'faretrail', address, trackerCodePath: '' },
    env: { ...site.env, ...env },
  });
  const ingress = await site.startIngress();
  const lanes = await openLanes(ingress.port, 16);
  const rows = await watchRows(postgres.url);
  const nameOf = orderNames();
  const make = requestMaker(ingress.port);
  try {
    await followAll(site, sandbox, nameOf);
    const { latencies } = await openLoad({ perSecond, seconds }, async (index) => {
      const orderId = nameOf(index);
      const status = changes[Math.floor(index / orders) % changes.length] ?? 'Driving';
      const stored = rows.next(`${orderId} ${status}`);
      sandbox.setStatus('business', orderId, status);
      const answer = await lanes.send(make(orderId, status));
      await stored;
      return answer;
    });
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  } finally {
    await rows.close();
    lanes.close();
    await ingress.stop();
    await worker.stop();
    await site.close();
    await sandbox.close();
  }
}

/** Waits for rows as an outbox does. */
async function watchRows(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  const waiting = new Map<string, () => void>();
  let last = '0';
  const look = async (): Promise<void> => {
    const after =
      'select position, order_id, raw_status from faretrail.order_changes where position > $1 order by position';
    const { rows } = await client.query<{ position: string; order_id: string; raw_status: string }>(after, [last]);
    for (const { position, order_id, raw_status } of rows) {
      last = position;
      const name = `${order_id} ${raw_status}`;
      waiting.get(name)?.();
      waiting.delete(name);
    }
  };
  client.on('notification', () => void look());
  await client.query('listen faretrail_order_changes');
  return {
    next: (name: string): Promise<void> => new Promise((resolve) => waiting.set(name, resolve)),
    close: () => client.end(),
  };
}

function toMeasures(results: readonly Round[]): Measure[] {
  const both = (key: keyof OrderFigures) =>
    results.map(({ stored, without }) => ({ faretrail: stored[key], plain: without[key] }));
  const alone = (key: 'p50' | 'p99') => results.map((one) => ({ faretrail: one[key], plain: Number.NaN }));
  const name = (what: string) => `announced orders, recorded in a store: ${what}`;
  const rows = `${perSecond} changes/s over ${orders} live orders, delivery to row`;
  return [
    {
      ...{ name: name('orders/s'), unit: '', better: 'higher', rounds: both('perSecond') },
      goal: { text: 'at least 0.95 of it', of: 'factor', limit: 0.95 },
    },
    { name: name('CPU of the server, ms'), unit: '', better: 'lower', rounds: both('serverMs') },
    { name: name('CPU of the worker, ms'), unit: '', better: 'lower', rounds: both('workerMs') },
    { name: name('history events'), unit: '', better: 'lower', rounds: both('events') },
    { name: `${rows}: p50`, unit: 'ms', better: 'lower', rounds: alone('p50') },
    {
      ...{ name: `${rows}: p99`, unit: 'ms', better: 'lower', rounds: alone('p99') },
      goal: { text: 'at most 250 ms', of: 'value', limit: 250 },
    },
  ];
}
