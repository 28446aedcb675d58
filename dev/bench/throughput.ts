import { randomUUID } from 'node:crypto';
import { type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import type { LiveOptions } from './live-orders.js';
import type { Measure } from './report.js';
import { type Side, sidesInRound } from './sides.js';

export type ThroughputOptions = Omit<LiveOptions, 'orders'>;

type Script = { status: string; afterMs: number }[];

/** The statuses of one order, from its start on. */
const loads = {
  'that have ended at the first read': [{ status: 'Completed', afterMs: 0 }],
  'of 4 statuses, 300 ms each': [
    { status: 'Pending', afterMs: 0 },
    { status: 'Confirmed', afterMs: 300 },
    { status: 'Driving', afterMs: 600 },
    { status: 'Completed', afterMs: 900 },
  ],
} satisfies Record<string, Script>;

type Load = keyof typeof loads;
/** Orders per second. */
export type Rates = Record<Load, number>;

export const cadence = { activeMs: 100, reservedMs: 100, pushedMs: 100 };
export const processes = 2;
export const inFlight = 64;
const warmUp = { count: 300, inFlight, limitMs: 60_000 }; // until the code of both sides is compiled
const counted = { count: 600, inFlight, limitMs: 60_000 };

/** Measures orders per second from start to end, with as many in flight as two cores can do. */
export async function benchThroughput({ place, rounds, say }: ThroughputOptions): Promise<Measure[]> {
  const rates: Record<Side, Rates>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const rate: Partial<Record<Side, Rates>> = {};
    for (const side of sidesInRound(round)) {
      say(`throughput: closed loop, ${side}, round ${round + 1} of ${rounds}, about 60 s`);
      const cell = await openCell(place, { side, processes, cadence });
      try {
        rate[side] = (await followMany(cell)).rates;
      } finally {
        await cell.close();
      }
    }
    rates.push(rate as Record<Side, Rates>);
  }
  return (Object.keys(loads) as Load[]).map((load) => ({
    name: `orders ${load}, ${inFlight} in flight`,
    unit: 'orders/s',
    better: 'higher',
    goal: { text: 'at least 1.2x', of: 'factor', limit: 1.2 },
    rounds: rates.map(({ faretrail, plain }) => ({ faretrail: faretrail[load], plain: plain[load] })),
  }));
}

/** Follows orders from start to end, one load after the other. `orders`: those of all loads, with the warm-up. */
export async function followMany(cell: Cell): Promise<{ rates: Rates; orders: number }> {
  const rates: Partial<Rates> = {};
  let orders = 0;
  for (const [load, script] of Object.entries(loads) as [Load, Script][]) {
    const warm = await closedLoop(warmUp, () => startToEnd(cell, script));
    const startedAt = performance.now();
    const done = await closedLoop(counted, () => startToEnd(cell, script));
    rates[load] = done.length / ((performance.now() - startedAt) / 1_000);
    orders += warm.length + done.length;
  }
  return { rates: rates as Rates, orders };
}

async function startToEnd(cell: Cell, script: Script): Promise<void> {
  const order = { at: 'partner' as const, orderId: randomUUID() };
  cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await (await cell.start(order)).result();
}
