import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { jitterShare } from '../../src/domain/order/cadence.js';
import type { trackInActivity } from './baseline/workflows.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { cpuMsOf } from './cpu.js';
import { type DatabaseCalls, databaseCallsOf, isWrite } from './database-calls.js';
import type { Listing, Measure } from './report.js';
import type { BenchOrder } from './sides.js';
import { mean, median } from './statistics.js';

export interface PollCostOptions {
  rounds: number;
  /** Live orders of each side. */
  orders: number;
  say: (line: string) => void;
}

/** The sides: what each is called, and its polls per second of all orders together, few enough for two cores. */
const kinds = {
  faretrail: { name: 'faretrail', pollsPerSecond: 250 },
  plain: { name: 'plain tracker', pollsPerSecond: 25 },
  loop: { name: 'loop in an activity', pollsPerSecond: 25 },
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

/** Slower than the pace of the oldest status in the window, so that age does not slow the polls. */
const fastestMs = 5_000;
const shortestWindowMs = 60_000;
/** A worker that has just started still compiles its code. */
const warmMs = 5_000;
const idleMs = 20_000;
/** Until the server has worked off the timers of the starts: a workflow task has ten seconds, a sticky one as much. */
export const settleMs = 30_000;
const lanes = 32;
const limitMs = 1_200_000;
/** So many orders tell how many events a poll adds. */
const sampled = 25;

/**
 * Measures what an unchanged poll costs where many orders are live: CPU time of the server and of the worker, calls of the database, events.
 * What both processes use without any order is taken off.
 */
export async function benchPollCosts(
  place: BenchPlace,
  { rounds, orders, say }: PollCostOptions,
): Promise<{ measures: Measure[]; operations: Listing }> {
  const results: Record<Kind, PollCost>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const result: Partial<Record<Kind, PollCost>> = {};
    for (const kind of round % 2 === 0 ? allKinds : allKinds.toReversed()) {
      const seconds = Math.round(60 + orders / 30 + (paceMs(kind, orders) + windowMs(kind, orders)) / 1_000);
      say(`polls: ${orders} live orders, ${kinds[kind].name}, round ${round + 1} of ${rounds}, about ${seconds} s`);
      result[kind] = await measure(place, kind, orders);
    }
    results.push(result as Record<Kind, PollCost>);
  }
  return { measures: toMeasures(results, orders), operations: toListing(results) };
}

const paceMs = (kind: Kind, orders: number): number =>
  Math.max(fastestMs, (orders * 1_000) / kinds[kind].pollsPerSecond);
/** Whole paces, so that orders which began together are not polled once more or less than the others. */
function windowMs(kind: Kind, orders: number): number {
  const meanMs = paceMs(kind, orders) * (1 + jitterShare / 2);
  return Math.ceil(shortestWindowMs / meanMs) * meanMs;
}

async function measure(place: BenchPlace, kind: Kind, orders: number): Promise<PollCost> {
  const activeMs = paceMs(kind, orders);
  const cadence = { activeMs, reservedMs: activeMs, pushedMs: activeMs };
  const side = kind === 'loop' ? 'plain' : kind;
  // Each live order of the loop holds a slot.
  const extraEnv = kind === 'loop' ? { BENCH_SLOTS: String(orders + 10) } : {};
  const cell = await openCell(place, { side, processes: 1, cadence, extraEnv });
  try {
    await sleep(warmMs);
    const idle = await usageIn(cell, idleMs);
    const begin = { cell, kind, activeMs };
    const live = await closedLoop({ count: orders, inFlight: lanes, limitMs }, (index) => startOne(begin, index));
    if (kind === 'faretrail') await allWatched(cell, orders);
    else await until(async () => pollsOf(cell) >= orders);
    const sample = live.slice(0, sampled).map(({ handle }) => handle);
    await sleep(Math.max(settleMs, activeMs));
    const eventsBefore = await eventsOf(sample);
    const used = await usageIn(cell, windowMs(kind, orders));
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
  cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script: [{ status: 'Driving', afterMs: 0 }] });
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

const tellEveryMs = 15_000;

/** Waits until runs have handed all orders over to the watches. Before, each would cost more than its polls. */
export async function allWatched(cell: Cell, orders: number, say: (line: string) => void = () => undefined) {
  let toldAt = Date.now();
  await until(async () => {
    const states = await Promise.all(cell.workers.map((worker) => worker.state()));
    const count = states.reduce((sum, { watch }) => sum + watch.orders, 0);
    if (Date.now() - toldAt > tellEveryMs) {
      toldAt = Date.now();
      say(`polls: ${count} of ${orders} orders are on the watch`);
    }
    return count >= orders;
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('so many orders are too many for this machine');
    await sleep(500);
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

const goals: Partial<Record<string, number>> = { 'CPU of the server': 0.1, 'CPU of the worker': 0.8 };

/** The comparisons: one of our sides beside another one. */
const pairs: readonly (readonly [Kind, Kind])[] = [
  ['faretrail', 'plain'],
  ['faretrail', 'loop'],
];

function toMeasures(results: readonly Record<Kind, PollCost>[], orders: number): Measure[] {
  return pairs.flatMap(([ours, theirs]) =>
    Object.entries(figures).map(([name, { unit, of }]): Measure => {
      const limit = theirs === 'plain' ? goals[name] : undefined;
      return {
        name: `unchanged poll of ${orders} live orders, beside the ${kinds[theirs].name}: ${name}`,
        unit,
        better: 'lower',
        rounds: results.map((result) => ({ faretrail: of(result[ours]), plain: of(result[theirs]) })),
        ...(limit !== undefined && { goal: { text: `at most ${limit} ms`, of: 'value', limit } }),
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
  return { name: 'calls of the database per poll', columns: Object.values(kinds).map(({ name }) => name), rows };
}
