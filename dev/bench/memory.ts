import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../stack/run/until.js';
import { closedLoop } from './closed-loop.js';
import { atMost, type Measure } from './report.js';
import { type Rounds, takeTurns } from './rounds.js';
import { pollEvery } from './settings.js';
import { type Side, sides } from './sides.js';
import { type BenchPlace, openSite, type Site, workerOf } from './site.js';
import { median } from './statistics.js';
import type { Question, WorkerState } from './worker-process.js';

export interface MemoryOptions extends Rounds {
  place: BenchPlace;
  /** Live orders on one worker process. */
  live: number;
}

interface MemoryCost {
  perOrder: number;
  /** The part of it that is in use in the heaps of Node. The rest is the SDK's native memory and what V8 keeps around its objects. */
  heapPerOrder: number;
  rss: number;
  peakRss: number;
}

const mebibyte = 1_048_576;
/** Reads per second of all orders together. Two cores do this easily, with the server. */
const readsPerSecond = 40;
const fastestMs = 10_000;
/** Orders that end before the measurement, so that it does not count what the process needs in any case. */
const warmUp = 300;
const lanes = 32;
const limitMs = 900_000;
const samples = 5;
const sampleEveryMs = 1_000;
/** The settings that docs/how-to/follow-real-orders.md advises for many orders, for both sides. */
export const nodeFlags = ['--max-old-space-size=512', '--max-semi-space-size=4'];
export const workerEnv = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' };

/**
 * Measures the resident memory of one worker process that follows `live` orders and reads them at their cadence. The cost of an order is
 * what is left after a collection of garbage: how much garbage a process holds varies by a third from run to run.
 */
export async function benchMemory({ place, live, ...asked }: MemoryOptions): Promise<Measure[]> {
  const about = (side: Side) => `memory, ${live} live orders, ${side}, about ${(25 + live / 40).toFixed(0)} s`;
  return toMeasures(live, await takeTurns(asked, sides, about, (side) => memoryOf(place, side, live)));
}

const paceMs = (live: number): number => Math.max(fastestMs, (live / readsPerSecond) * 1_000);

async function memoryOf(place: BenchPlace, side: Side, live: number): Promise<MemoryCost> {
  const cadence = pollEvery(paceMs(live));
  const site = await openSite(place, { side, workers: 1, cadence, nodeFlags, workerEnv });
  try {
    await closedLoop({ count: warmUp, inFlight: lanes, limitMs }, () => completedOrder(site));
    const before = await settledState(site, 'state without garbage');
    await closedLoop({ count: live, inFlight: lanes, limitMs }, (index) => liveOrder(site, index));
    await allFollowed(site, live);
    const { rssBytes: rss, peakRssBytes: peakRss } = await settledState(site, 'state');
    const after = await settledState(site, 'state without garbage');
    const runs = after.cachedRuns - before.cachedRuns;
    const perOrder = (after.rssBytes - before.rssBytes) / runs;
    return { perOrder, heapPerOrder: (after.heapBytes - before.heapBytes) / runs, rss, peakRss };
  } finally {
    await site.close();
  }
}

async function completedOrder(site: Site): Promise<void> {
  const order = { at: 'partner' as const, orderId: randomUUID() };
  const script = [{ status: 'Completed', afterMs: 0 }];
  site.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await (await site.start(order)).result();
}

async function liveOrder(site: Site, index: number): Promise<void> {
  const order = { at: index % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
  const script = [{ status: 'Driving', afterMs: 0 }];
  site.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await site.start(order);
}

type Memory = Omit<WorkerState, 'heaps' | 'watch'> & { heapBytes: number };

const stateOf = async (site: Site, question: Question): Promise<Memory> => {
  const { heaps, ...state } = await workerOf(site).state(question);
  return { ...state, heapBytes: heaps.reduce((sum, { usedBytes }) => sum + usedBytes, 0) };
};

/** Waits until the worker has read every order. */
async function allFollowed({ sandbox }: Site, live: number): Promise<void> {
  const areRead = () => {
    const { orderStatus, orderDetails } = sandbox.counts().byOperation;
    return orderStatus + orderDetails >= warmUp + live;
  };
  await until(`${live} orders are too many for this machine`, areRead, { withinMs: limitMs, everyMs: sampleEveryMs });
}

/** The median of several readings, since garbage comes and goes. */
async function settledState(site: Site, question: Question): Promise<Memory> {
  const states: Memory[] = [];
  for (let i = 0; i < samples; i += 1) {
    await sleep(sampleEveryMs);
    states.push(await stateOf(site, question));
  }
  const of = (key: keyof Memory): number => median(states.map((state) => state[key]));
  return {
    rssBytes: of('rssBytes'),
    peakRssBytes: of('peakRssBytes'),
    cachedRuns: of('cachedRuns'),
    heapBytes: of('heapBytes'),
  };
}

function toMeasures(live: number, costs: readonly Record<Side, MemoryCost>[]): Measure[] {
  const pace = `${live} live orders, read every ${paceMs(live) / 1_000} s`;
  const rounds = (of: (cost: MemoryCost) => number) =>
    costs.map(({ faretrail, plain }) => ({ faretrail: of(faretrail), plain: of(plain) }));
  const goal = { text: 'at most 1 GiB', of: 'value', limit: 1_024 } as const;
  const isGoal = live >= 10_000;
  return [
    {
      name: `${pace}: memory per cached order`,
      unit: 'kB',
      better: 'lower',
      rounds: rounds(({ perOrder }) => perOrder / 1_000),
      ...atMost(150, 'kB'),
    },
    {
      name: `${pace}: heap in use of it`,
      unit: 'kB',
      better: 'lower',
      rounds: rounds(({ heapPerOrder }) => heapPerOrder / 1_000),
    },
    {
      name: `${pace}: memory of the worker`,
      unit: 'MiB',
      better: 'lower',
      rounds: rounds(({ rss }) => rss / mebibyte),
      ...(isGoal && { goal }),
    },
    {
      name: `${pace}: its peak`,
      unit: 'MiB',
      better: 'lower',
      rounds: rounds(({ peakRss }) => peakRss / mebibyte),
      ...(isGoal && { goal }),
    },
  ];
}
