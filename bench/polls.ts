import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { toAccountName, toOrderId } from '../src/domain/keys.js';
import type { OrderTrail } from '../src/domain/order/trail.js';
import { bundleTracker } from './baseline/worker.js';
import type { trackInActivity } from './baseline/workflows.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { cpuMsOf } from './cpu.js';
import { type DatabaseCalls, databaseCallsOf, isWrite } from './database-calls.js';
import { type Listing, type Measure, type Summary, summarize } from './report.js';
import type { BenchOrder } from './sides.js';
import { mean, median } from './statistics.js';
import type { TemporalSource } from './temporal-source.js';

export interface PollsOptions {
  temporal: TemporalSource;
  rounds: number;
  /** Live orders of each side. */
  orders: number;
  say: (line: string) => void;
}

/** The sides, each by what it is called. */
const kinds = {
  unannounced: 'faretrail, polled',
  announced: 'faretrail, announced',
  plain: 'plain tracker',
  loop: 'loop in an activity',
} as const;
type Kind = keyof typeof kinds;
const allKinds = Object.keys(kinds) as Kind[];

/** What one poll costs that finds nothing new. */
interface PollCost {
  serverMs: number;
  workerMs: number;
  events: number;
  calls: DatabaseCalls;
}

/** Polls per second of all orders together: few enough for two cores on every side. */
const pollsPerSecond = 25;
const fastestMs = 10_000;
const shortestWindowMs = 60_000;
/** A worker that has just started still compiles its code. */
const warmMs = 5_000;
const idleMs = 10_000;
const lanes = 32;
const limitMs = 600_000;
/** So many orders tell how many events a poll adds. */
const sampled = 25;

/**
 * Measures what an unchanged poll costs where many orders are live: CPU time of the server and of the worker, calls of the database, events.
 * What both processes use without any order is taken off.
 */
export async function benchPolls(options: PollsOptions): Promise<{ summaries: Summary[]; operations: Listing }> {
  const { temporal, rounds, orders, say } = options;
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const trackerCodePath = join(folder, 'tracker-bundle.js');
    writeFileSync(trackerCodePath, await bundleTracker());
    const place = { folder, temporal, trackerCodePath };
    const results: Record<Kind, PollCost>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const result: Partial<Record<Kind, PollCost>> = {};
      for (const kind of round % 2 === 0 ? allKinds : allKinds.toReversed()) {
        const seconds = Math.round(30 + orders / 30 + (paceMs(orders) + windowMs(orders)) / 1_000);
        say(`polls: ${orders} live orders, ${kinds[kind]}, round ${round + 1} of ${rounds}, about ${seconds} s`);
        result[kind] = await measure(place, kind, orders);
      }
      results.push(result as Record<Kind, PollCost>);
    }
    return { summaries: toMeasures(results, orders).map(summarize), operations: toListing(results) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const paceMs = (orders: number): number => Math.max(fastestMs, (orders * 1_000) / pollsPerSecond);
const windowMs = (orders: number): number => Math.max(shortestWindowMs, paceMs(orders));

async function measure(place: BenchPlace, kind: Kind, orders: number): Promise<PollCost> {
  const activeMs = paceMs(orders);
  const cadence = { activeMs, reservedMs: activeMs, pushedMs: activeMs };
  const side = kind === 'plain' || kind === 'loop' ? 'plain' : 'faretrail';
  // Each live order of the loop holds a slot.
  const extraEnv = kind === 'loop' ? { BENCH_SLOTS: String(orders + 10) } : {};
  const cell = await openCell(place, { side, processes: 1, cadence, extraEnv });
  try {
    await sleep(warmMs);
    const idle = await usageIn(cell, idleMs);
    const begin = { cell, kind, activeMs };
    const live = await closedLoop({ count: orders, inFlight: lanes, limitMs }, (index) => startOne(begin, index));
    await until(async () => pollsOf(cell) >= orders);
    if (kind === 'announced') await announceAll(cell, live);
    const sample = live.slice(0, sampled).map(({ handle }) => handle);
    await sleep(activeMs); // the first attempt of a poll only waits, so each order has a poll that waits now
    const eventsBefore = await eventsOf(sample);
    const used = await usageIn(cell, windowMs(orders));
    const events = ((await eventsOf(sample)) - eventsBefore) / (used.polls / orders);
    return { ...perPoll(used, idle), events };
  } finally {
    await cell.close();
  }
}

interface LiveOrder extends BenchOrder {
  handle: WorkflowHandle;
}

interface Begin {
  cell: Cell;
  kind: Kind;
  activeMs: number;
}

async function startOne({ cell, kind, activeMs }: Begin, index: number): Promise<LiveOrder> {
  const order = { at: index % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
  const status = kind === 'announced' ? 'Confirmed' : 'Driving';
  cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script: [{ status, afterMs: 0 }] });
  if (kind !== 'loop') return { ...order, handle: await cell.start(order) };
  const cadence = { activeMs, reservedMs: activeMs, pushedMs: activeMs };
  const key = { account: toAccountName(order.at), orderId: toOrderId(order.orderId) };
  const handle = await cell.client.workflow.start<typeof trackInActivity>('trackInActivity', {
    workflowId: `track/${order.at}/${order.orderId}`,
    taskQueue: cell.taskQueue,
    args: [{ ...key, cadence }],
  });
  return { ...order, handle };
}

/** Deliveries announce a change of each order, so that its next polls ask the run first. */
async function announceAll(cell: Cell, live: readonly LiveOrder[]): Promise<void> {
  await closedLoop({ count: live.length, inFlight: lanes, limitMs }, async (index) => {
    const { at, orderId, handle } = live[index] as LiveOrder;
    cell.sandbox.setStatus(at, orderId, 'Driving');
    const receivedAt = new Date().toISOString();
    const delivery = { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt, status: 'Driving' };
    await handle.signal('deliveryReceived', { deliveries: [delivery] });
  });
  for (const { handle } of live.slice(0, sampled)) {
    await until(async () => (await handle.query<OrderTrail>('orderTrail')).pushed);
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('so many orders are too many for this machine');
    await sleep(50);
  }
}

const pollsOf = ({ sandbox }: Cell): number => {
  const { orderStatus, orderDetails } = sandbox.counts().byOperation;
  return orderStatus + orderDetails;
};

async function eventsOf(handles: readonly WorkflowHandle[]): Promise<number> {
  return mean(
    (await Promise.all(handles.map((handle) => handle.describe()))).map(({ historyLength }) => historyLength),
  );
}

/** What both processes used in some time. */
interface Usage {
  seconds: number;
  polls: number;
  serverMs: number;
  workerMs: number;
  calls: DatabaseCalls;
}

async function usageIn(cell: Cell, forMs: number): Promise<Usage> {
  const { metricsUrl, pid } = cell.server;
  const now = async () => ({
    calls: metricsUrl === null ? new Map<string, number>() : await databaseCallsOf(metricsUrl),
    polls: pollsOf(cell),
    serverMs: cpuMsOf(pid),
    workerMs: cpuMsOf(cell.workers[0]?.pid ?? null),
    at: performance.now(),
  });
  const before = await now();
  await sleep(forMs);
  const after = await now();
  return {
    seconds: (after.at - before.at) / 1_000,
    polls: after.polls - before.polls,
    serverMs: after.serverMs - before.serverMs,
    workerMs: after.workerMs - before.workerMs,
    calls: new Map([...after.calls].map(([name, count]) => [name, count - (before.calls.get(name) ?? 0)])),
  };
}

function perPoll(used: Usage, idle: Usage): Omit<PollCost, 'events'> {
  const share = used.seconds / idle.seconds;
  const each = (all: number, atRest: number): number => (all - atRest * share) / used.polls;
  return {
    serverMs: each(used.serverMs, idle.serverMs),
    workerMs: each(used.workerMs, idle.workerMs),
    calls: new Map([...used.calls].map(([name, count]) => [name, each(count, idle.calls.get(name) ?? 0)])),
  };
}

const sumOf = (calls: DatabaseCalls, isCounted: (operation: string) => boolean): number =>
  [...calls].reduce((sum, [operation, count]) => sum + (isCounted(operation) ? count : 0), 0);

const figures = {
  'CPU of the server': { unit: 'ms', of: ({ serverMs }) => serverMs },
  'CPU of the worker': { unit: 'ms', of: ({ workerMs }) => workerMs },
  'writes to the database': { unit: '', of: ({ calls }) => sumOf(calls, isWrite) },
  'reads of the database': { unit: '', of: ({ calls }) => sumOf(calls, (operation) => !isWrite(operation)) },
  events: { unit: '', of: ({ events }) => events },
} satisfies Record<string, { unit: string; of: (cost: PollCost) => number }>;

/** The comparisons: one of our sides beside another one. */
const pairs: readonly (readonly [Kind, Kind])[] = [
  ['unannounced', 'plain'],
  ['announced', 'plain'],
  ['unannounced', 'loop'],
];

function toMeasures(results: readonly Record<Kind, PollCost>[], orders: number): Measure[] {
  const load = `${orders} live orders, every ${Math.round(paceMs(orders) / 1_000)} s`;
  return pairs.flatMap(([ours, theirs]) =>
    Object.entries(figures).map(([name, { unit, of }]): Measure => {
      const isGoal = theirs === 'plain' && name === 'CPU of the server';
      return {
        name: `${load}, ${kinds[ours]} beside ${kinds[theirs]}: ${name}`,
        unit,
        better: 'lower',
        rounds: results.map((result) => ({ faretrail: of(result[ours]), plain: of(result[theirs]) })),
        ...(isGoal && { goal: { text: 'at most half of it', of: 'factor', limit: 2 } }),
      };
    }),
  );
}

/** Operations that a poll calls less than once in a hundred polls are left out. */
const worthShowing = 0.01;

function toListing(results: readonly Record<Kind, PollCost>[]): Listing {
  const operations = new Set(results.flatMap((result) => allKinds.flatMap((kind) => [...result[kind].calls.keys()])));
  const medianOf = (operation: string, kind: Kind): number =>
    median(results.map((result) => result[kind].calls.get(operation) ?? 0));
  const rows = [...operations]
    .toSorted()
    .map((operation) => ({
      name: `${operation}${isWrite(operation) ? ', a write' : ''}`,
      values: allKinds.map((kind) => medianOf(operation, kind)),
    }))
    .filter(({ values }) => values.some((value) => value >= worthShowing));
  return { name: 'calls of the database per poll', columns: Object.values(kinds), rows };
}
