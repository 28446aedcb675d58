import { randomUUID } from 'node:crypto';
import { closedLoop } from './closed-loop.js';
import { historySizeOf } from './histories.js';
import type { Measure } from './report.js';
import { type Rounds, takeTurns } from './rounds.js';
import { pollEvery } from './settings.js';
import { type Side, sides } from './sides.js';
import { type BenchPlace, openSite, type Site } from './site.js';
import { mean, median } from './statistics.js';

export interface LiveOptions extends Rounds {
  place: BenchPlace;
  orders: number;
}

interface LiveCost {
  reads: number;
  tokens: number;
  databaseBytes: number;
  historyBytes: number;
  events: number;
  lateMs: number;
}

const lifeMs = 20_000;
const cadence = pollEvery(1_000);
const script = [
  { status: 'Pending', afterMs: 0 },
  { status: 'Confirmed', afterMs: 5_000 },
  { status: 'Driving', afterMs: 10_000 },
  { status: 'Completed', afterMs: lifeMs },
];
const workers = 2;
/** Half the time of an order, so that workers must renew each token within a round. */
const token = { tokenLifetimeSeconds: 10 };
const startLanes = 16;

/** Measures orders of both interfaces that last 20 s and have four statuses. Workers read each once a second. */
export async function benchLiveOrders({ place, orders, ...asked }: LiveOptions): Promise<Measure[]> {
  const about = (side: Side) => `throughput, ${orders} live orders, ${side}, about 30 s`;
  return toMeasures(await takeTurns(asked, sides, about, (side) => follow(place, side, orders)));
}

async function follow(place: BenchPlace, side: Side, orders: number): Promise<LiveCost> {
  const sandbox = { partner: token, business: token };
  const site = await openSite(place, { side, workers, cadence, sandbox });
  try {
    const bytesBefore = site.databaseBytes();
    // All orders last at the same time. The lanes bound only how many begin at once.
    const begun = await closedLoop({ count: orders, inFlight: startLanes, limitMs: lifeMs }, (i) => begin(site, i));
    const rides = await Promise.all(begun.map((finish) => finish()));
    const { byOperation } = site.sandbox.counts();
    return {
      reads: (byOperation.orderStatus + byOperation.orderDetails) / rides.length,
      tokens: byOperation.partnerToken + byOperation.businessToken,
      databaseBytes: (site.databaseBytes() - bytesBefore) / rides.length,
      historyBytes: mean(rides.map(({ bytes }) => bytes)),
      events: mean(rides.map(({ events }) => events)),
      lateMs: median(rides.map(({ lateMs }) => lateMs)),
    };
  } finally {
    await site.close();
  }
}

interface Ride {
  events: number;
  bytes: number;
  lateMs: number;
}

async function begin(site: Site, index: number): Promise<() => Promise<Ride>> {
  const order = { at: index % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
  const endsAt = Date.now() + lifeMs;
  site.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script: [...script] });
  const handle = await site.start(order);
  const { runId } = await handle.describe();
  const ended = handle.result().then(() => Date.now());
  return async () => {
    const lateMs = (await ended) - endsAt;
    return { ...(await historySizeOf(site.client, handle, runId)), lateMs };
  };
}

function toMeasures(costs: readonly Record<Side, LiveCost>[]): Measure[] {
  const measure = (name: string, unit: string, of: (cost: LiveCost) => number): Measure => ({
    name: `20-s orders, read each second: ${name}`,
    unit,
    better: 'lower',
    rounds: costs.map(({ faretrail, plain }) => ({ faretrail: of(faretrail), plain: of(plain) })),
  });
  return [
    measure('upstream reads per order', '', ({ reads }) => reads),
    measure('token requests, 2 processes, 10-s tokens', '', ({ tokens }) => tokens),
    measure('events per order', '', ({ events }) => events),
    measure('history per order', 'kB', ({ historyBytes }) => historyBytes / 1_000),
    measure('database growth per order', 'kB', ({ databaseBytes }) => databaseBytes / 1_000),
    measure('end seen late, p50', 'ms', ({ lateMs }) => lateMs),
  ];
}
