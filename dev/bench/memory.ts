import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import type { Measure } from './report.js';
import { type Side, sidesInRound } from './sides.js';
import { median } from './statistics.js';
import type { Question, WorkerState } from './worker-process.js';

export interface MemoryOptions {
  place: BenchPlace;
  /** Live orders on one worker process. */
  live: number;
  rounds: number;
  say: (line: string) => void;
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
export const extraEnv = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' };

/**
 * Measures the resident memory of one worker process that follows `live` orders and reads them at their cadence. The cost of an order is
 * what is left after a collection of garbage: how much garbage a process holds varies by a third from run to run.
 */
export async function benchMemory({ place, live, rounds, say }: MemoryOptions): Promise<Measure[]> {
  const costs: Record<Side, MemoryCost>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const cost: Partial<Record<Side, MemoryCost>> = {};
    for (const side of sidesInRound(round)) {
      const seconds = 25 + live / 40;
      say(`memory: ${live} live orders, ${side}, round ${round + 1} of ${rounds}, about ${seconds.toFixed(0)} s`);
      cost[side] = await memoryOf(place, side, live);
    }
    costs.push(cost as Record<Side, MemoryCost>);
  }
  return toMeasures(live, costs);
}

const paceMs = (live: number): number => Math.max(fastestMs, (live / readsPerSecond) * 1_000);

async function memoryOf(place: BenchPlace, side: Side, live: number): Promise<MemoryCost> {
  const activeMs = paceMs(live);
  const cadence = { activeMs, reservedMs: activeMs, pushedMs: activeMs };
  const cell = await openCell(place, { side, processes: 1, cadence, nodeFlags, extraEnv });
  try {
    await closedLoop({ count: warmUp, inFlight: lanes, limitMs }, () => completedOrder(cell));
    const before = await settledState(cell, 'state without garbage');
    await closedLoop({ count: live, inFlight: lanes, limitMs }, (index) => liveOrder(cell, index));
    await allFollowed(cell, live);
    const { rssBytes: rss, peakRssBytes: peakRss } = await settledState(cell, 'state');
    const after = await settledState(cell, 'state without garbage');
    const runs = after.cachedRuns - before.cachedRuns;
    const perOrder = (after.rssBytes - before.rssBytes) / runs;
    return { perOrder, heapPerOrder: (after.heapBytes - before.heapBytes) / runs, rss, peakRss };
  } finally {
    await cell.close();
  }
}

async function completedOrder(cell: Cell): Promise<void> {
  const order = { at: 'partner' as const, orderId: randomUUID() };
  const script = [{ status: 'Completed', afterMs: 0 }];
  cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await (await cell.start(order)).result();
}

async function liveOrder(cell: Cell, index: number): Promise<void> {
  const order = { at: index % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
  const script = [{ status: 'Driving', afterMs: 0 }];
  cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
  await cell.start(order);
}

type Memory = Omit<WorkerState, 'heaps' | 'watch'> & { heapBytes: number };

const stateOf = async ({ workers: [worker] }: Cell, question: Question): Promise<Memory> => {
  if (!worker) throw new Error('the cell has no worker process');
  const { heaps, ...state } = await worker.state(question);
  return { ...state, heapBytes: heaps.reduce((sum, { usedBytes }) => sum + usedBytes, 0) };
};

/** Waits until the worker has read every order. */
async function allFollowed(cell: Cell, live: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const { orderStatus, orderDetails } = cell.sandbox.counts().byOperation;
    if (orderStatus + orderDetails >= warmUp + live) return;
    if (Date.now() > deadline) throw new Error(`${live} orders are too many for this machine`);
    await sleep(sampleEveryMs);
  }
}

/** The median of several readings, since garbage comes and goes. */
async function settledState(cell: Cell, question: Question): Promise<Memory> {
  const states: Memory[] = [];
  for (let i = 0; i < samples; i += 1) {
    await sleep(sampleEveryMs);
    states.push(await stateOf(cell, question));
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
      goal: { text: 'at most 150 kB', of: 'value', limit: 150 },
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
