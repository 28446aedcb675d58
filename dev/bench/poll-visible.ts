import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { openLoad, quantile } from './open-load.js';
import type { Measure } from './report.js';

const orders = 200;
const perSecond = 3;
const seconds = 60;
const paceMs = 5_000;
const limitMs = 60_000;
/** Each query is work for server and worker and delays the change, so the first comes after the read of the order. */
const askEveryMs = 5;
const lookEveryMs = 10;
const changes = ['Confirmed', 'Driving', 'Waiting', 'Transporting'];

interface VisibleFigures {
  /** Milliseconds from the change at the service to the poll that finds it. */
  pollP50: number;
  /** And from the request of that poll until a query answers with the change. */
  p50: number;
  p99: number;
}

/** Measures how long after the poll that finds a change a query shows it: an answer, a describe, a signal, a task, a read, a task. */
export async function benchVisible(
  place: BenchPlace,
  { rounds, say }: { rounds: number; say: (line: string) => void },
): Promise<Measure[]> {
  const results: VisibleFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`polls: a change becomes visible, round ${round + 1} of ${rounds}, about ${seconds + 20} s`);
    const cadence = { activeMs: paceMs, reservedMs: paceMs, pushedMs: paceMs };
    const cell = await openCell(place, { side: 'faretrail', processes: 1, cadence });
    try {
      results.push(await measure(cell));
    } finally {
      await cell.close();
    }
  }
  const name = `${perSecond} changes/s over ${orders} orders polled every ${paceMs / 1_000} s`;
  const measureOf = (what: string, key: keyof VisibleFigures): Measure => ({
    name: `${name}: ${what}`,
    unit: 'ms',
    better: 'lower',
    rounds: results.map((one) => ({ faretrail: one[key], plain: Number.NaN })),
  });
  return [
    measureOf('change to poll, p50', 'pollP50'),
    { ...measureOf('poll to visible status, p50', 'p50'), goal: { text: 'at most 60 ms', of: 'value', limit: 60 } },
    measureOf('poll to visible status, p99', 'p99'),
  ];
}

async function measure(cell: Cell): Promise<VisibleFigures> {
  const names = Array.from({ length: orders }, () => randomUUID());
  await closedLoop({ count: orders, inFlight: 16, limitMs }, async (index) => {
    const orderId = names[index] ?? '';
    cell.sandbox.addOrder({ interface: 'partner', orderId, script: [{ status: 'Routing', afterMs: 0 }] });
    await cell.start({ at: 'partner', orderId });
  });
  await sleep(2 * paceMs);
  const toPoll: number[] = [];
  const { latencies } = await openLoad({ perSecond, seconds }, async (index) => {
    const status = changes[Math.floor(index / orders) % changes.length] ?? 'Driving';
    const found = await change(cell, names[index % orders] ?? '', status);
    toPoll.push(found.toPollMs);
    return found.toVisibleMs;
  }).then(({ statuses, ...load }) => ({ ...load, latencies: spread(statuses) }));
  return {
    pollP50: quantile(Float64Array.from(toPoll).sort(), 0.5),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** `openLoad` counts answers: here each is a time in milliseconds. */
const spread = (answers: Map<number, number>): Float64Array =>
  Float64Array.from([...answers].flatMap(([ms, count]) => Array<number>(count).fill(ms))).sort();

async function change(
  { client, sandbox }: Cell,
  orderId: string,
  status: string,
): Promise<{ toPollMs: number; toVisibleMs: number }> {
  const setAt = Date.now();
  sandbox.setStatus('partner', orderId, status);
  const since = new Date(setAt).toISOString();
  const reads = () => sandbox.ledger({ orderId, since });
  await until(() => reads().length >= 2, lookEveryMs); // the poll, and the read of the run
  const pollAt = Date.parse(reads()[0]?.at ?? '');
  const handle = client.workflow.getHandle(`order/partner/${orderId}`);
  await until(async () => (await handle.query<OrderTrail>('orderTrail')).status === status, askEveryMs);
  return { toPollMs: pollAt - setAt, toVisibleMs: Date.now() - pollAt };
}

async function until(isSo: () => boolean | Promise<boolean>, everyMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`a change was not seen within ${limitMs} ms`);
    await sleep(everyMs);
  }
}
