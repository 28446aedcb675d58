import { randomUUID } from 'node:crypto';
import { closedLoop } from './closed-loop.js';
import type { Measure } from './report.js';
import { type Rounds, takeTurns } from './rounds.js';
import { pollEvery } from './settings.js';
import { type Side, sides } from './sides.js';
import { type BenchPlace, openSite, type Site } from './site.js';

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
type Rates = Record<Load, number>;

const inFlight = 64;
const warmUp = { count: 300, inFlight, limitMs: 60_000 }; // until the code of both sides is compiled
const counted = { count: 600, inFlight, limitMs: 60_000 };

/** Measures orders per second from start to end, with as many in flight as two cores can do. */
export async function benchThroughput({ place, ...asked }: Rounds & { place: BenchPlace }): Promise<Measure[]> {
  const about = (side: Side) => `throughput, closed loop, ${side}, about 60 s`;
  const rates = await takeTurns(asked, sides, about, async (side) => {
    const site = await openSite(place, { side, workers: 2, cadence: pollEvery(100) });
    return await followMany(site).finally(site.close);
  });
  return (Object.keys(loads) as Load[]).map((load) => ({
    name: `orders ${load}, ${inFlight} in flight`,
    unit: 'orders/s',
    better: 'higher',
    goal: { text: 'at least 1.2x', of: 'factor', limit: 1.2 },
    rounds: rates.map(({ faretrail, plain }) => ({ faretrail: faretrail[load], plain: plain[load] })),
  }));
}

/** Follows orders from start to end, one load after the other. */
async function followMany(site: Site): Promise<Rates> {
  const rates: Partial<Rates> = {};
  for (const [load, script] of Object.entries(loads) as [Load, Script][]) {
    await closedLoop(warmUp, () => startToEnd(site, script));
    const startedAt = performance.now();
    const done = await closedLoop(counted, () => startToEnd(site, script));
    rates[load] = done.length / ((performance.now() - startedAt) / 1_000);
  }
  return rates as Rates;
}

async function startToEnd({ sandbox, start }: Site, script: Script): Promise<void> {
  const order = { at: 'partner' as const, orderId: randomUUID() };
  sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await (await start(order)).result();
}
