import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { jitterShare } from '../../src/domain/order/cadence.js';
import { until } from '../stack/run/until.js';
import { closedLoop } from './closed-loop.js';
import { atMost, type Measure } from './report.js';
import { type Rounds, takeTurns } from './rounds.js';
import { type Counts, countsBetween, countsOf, isWrite, parseDatabaseCalls, sumOf } from './server-counts.js';
import { pollEvery } from './settings.js';
import { type Side, sides } from './sides.js';
import { type BenchPlace, openSite, type Site } from './site.js';
import { mean } from './statistics.js';
import { type Usage, usageWhile } from './usage.js';

export interface PollCostOptions extends Rounds {
  /** Live orders of each side. */
  orders: number;
}

/** Of all orders together, few enough for two cores. */
const pollsPerSecond: Record<Side, number> = { faretrail: 250, plain: 25 };

/** What one poll costs that finds nothing new. */
interface PollCost {
  serverMs: number;
  workerMs: number;
  events: number;
  writes: number;
  reads: number;
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
export async function benchPollCosts(place: BenchPlace, { orders, ...asked }: PollCostOptions): Promise<Measure[]> {
  const about = (side: Side): string => {
    const seconds = Math.round(60 + orders / 30 + (paceMs(side, orders) + windowMs(side, orders)) / 1_000);
    return `polls, ${orders} live orders, ${side}, about ${seconds} s`;
  };
  return toMeasures(await takeTurns(asked, sides, about, (side) => measure(place, side, orders)), orders);
}

const paceMs = (side: Side, orders: number): number => Math.max(fastestMs, (orders * 1_000) / pollsPerSecond[side]);
/** Whole paces, so that orders which began together are not polled once more or less than the others. */
function windowMs(side: Side, orders: number): number {
  const meanMs = paceMs(side, orders) * (1 + jitterShare / 2);
  return Math.ceil(shortestWindowMs / meanMs) * meanMs;
}

async function measure(place: BenchPlace, side: Side, orders: number): Promise<PollCost> {
  const activeMs = paceMs(side, orders);
  const site = await openSite(place, { side, workers: 1, cadence: pollEvery(activeMs) });
  try {
    await sleep(warmMs);
    const idle = await usedIn(site, idleMs);
    const live = await closedLoop({ count: orders, inFlight: lanes, limitMs }, (index) => {
      const at = index % 2 === 0 ? 'partner' : 'business';
      return startDriving(site, { at, orderId: randomUUID() });
    });
    if (side === 'faretrail') await allWatched(site, orders);
    else await until('too many orders for this machine', () => pollsOf(site) >= orders, { withinMs: limitMs });
    const sample = live.slice(0, sampled);
    await sleep(Math.max(settleMs, activeMs));
    const eventsBefore = await eventsOf(sample);
    const used = await usedIn(site, windowMs(side, orders));
    const events = ((await eventsOf(sample)) - eventsBefore) / (used.polls / orders);
    return { ...perPoll(used, idle), events };
  } finally {
    await site.close();
  }
}

/** An order that stays as it is. */
export function startDriving({ sandbox, start }: Site, order: Parameters<Site['start']>[0]): Promise<WorkflowHandle> {
  sandbox.addOrder({ interface: order.at, orderId: order.orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  return start(order);
}

const tellEveryMs = 15_000;

/** Waits until runs have handed all orders over to the watches. Before, each would cost more than its polls. */
export async function allWatched(site: Site, orders: number, say: (line: string) => void = () => undefined) {
  let toldAt = Date.now();
  const areWatched = async () => {
    const states = await Promise.all(site.workers.map((worker) => worker.state()));
    const count = states.reduce((sum, { watch }) => sum + watch.orders, 0);
    if (Date.now() - toldAt > tellEveryMs) {
      toldAt = Date.now();
      say(`polls: ${count} of ${orders} orders are on the watch`);
    }
    return count >= orders;
  };
  await until('so many orders are too many for this machine', areWatched, { withinMs: limitMs, everyMs: 500 });
}

const pollsOf = ({ sandbox }: Site): number => {
  const { orderStatus, orderDetails } = sandbox.counts().byOperation;
  return orderStatus + orderDetails;
};

async function eventsOf(handles: readonly WorkflowHandle[]): Promise<number> {
  return mean(
    (await Promise.all(handles.map((handle) => handle.describe()))).map(({ historyLength }) => historyLength),
  );
}

/** What both processes used in some time. */
interface Used extends Usage {
  polls: number;
  calls: Counts;
}

async function usedIn(site: Site, forMs: number): Promise<Used> {
  const calls = () => countsOf(site.temporal.metricsUrl, parseDatabaseCalls);
  const [callsBefore, pollsBefore] = [await calls(), pollsOf(site)];
  const usage = await usageWhile(site, () => sleep(forMs));
  return { ...usage, polls: pollsOf(site) - pollsBefore, calls: countsBetween(callsBefore, await calls()) };
}

function perPoll(used: Used, idle: Used): Omit<PollCost, 'events'> {
  const share = used.seconds / idle.seconds;
  const each = (of: (one: Used) => number): number => (of(used) - of(idle) * share) / used.polls;
  return {
    serverMs: each(({ serverMs }) => serverMs),
    workerMs: each(({ workerMs }) => workerMs),
    writes: each(({ calls }) => sumOf(calls, isWrite)),
    reads: each(({ calls }) => sumOf(calls, (operation) => !isWrite(operation))),
  };
}

function toMeasures(results: readonly Record<Side, PollCost>[], orders: number): Measure[] {
  const measure = (name: string, unit: string, key: keyof PollCost): Measure => ({
    ...{ name: `unchanged poll of ${orders} live orders: ${name}`, unit, better: 'lower' },
    rounds: results.map(({ faretrail, plain }) => ({ faretrail: faretrail[key], plain: plain[key] })),
  });
  return [
    { ...measure('CPU of the server', 'ms', 'serverMs'), ...atMost(0.1, 'ms') },
    { ...measure('CPU of the worker', 'ms', 'workerMs'), ...atMost(0.8, 'ms') },
    measure('writes to the database', '', 'writes'),
    measure('reads of the database', '', 'reads'),
    measure('events', '', 'events'),
  ];
}
