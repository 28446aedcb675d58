import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../src/client/index.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { mostCallsWithin, readDistancesMs } from '../sandbox/ledger-questions.js';
import { until } from '../stack/run/until.js';
import { closedLoop } from './closed-loop.js';
import { openLoad, quantile } from './open-load.js';
import { allWatched, startDriving } from './poll-costs.js';
import { alone, atMost, type Measure } from './report.js';
import { type Rounds, repeat } from './rounds.js';
import { pollEvery } from './settings.js';
import { type BenchPlace, openSite, type Site } from './site.js';
import { mean } from './statistics.js';
import type { WorkerProcess } from './worker-process.js';

const at = 'business';
const account = toAccountName(at);
const requestsPerSecond = 16;
const orders = 1_000;
const aloneS = 150;
const busyS = 60;
const callsPerSecond = 8;
const afterStopS = 30;
const afterKillS = 75;
const windowMs = 10_000;
const limitMs = 600_000;

interface BudgetFigures {
  /** Shares of the budget. */
  alone: number;
  busyPolls: number;
  busyAll: number;
  /** The most requests in any ten seconds: as the orders start, alone, beside calls, while the watch changes hands; of all. */
  mostStart: number;
  mostAlone: number;
  mostBusy: number;
  mostHands: number;
  most: number;
  /** Between two polls of an order while nothing else calls, beside what is fair. */
  distanceP99: number;
  distanceMax: number;
  /** Without a poll, when the holder stops, and when it is killed. */
  gapStopS: number;
  gapKillS: number;
}

/** Measures the use of an account's budget by far more orders than it can poll at their pace, alone, beside calls, and when workers end. */
export async function benchBudget(place: BenchPlace, asked: Rounds): Promise<Measure[]> {
  const seconds = Math.round(aloneS + busyS + afterStopS + afterKillS + orders / 12);
  const results = await repeat(asked, `polls, the budget of an account, about ${seconds} s`, async () => {
    const site = await openSite(place, { workers: 3, cadence: pollEvery(10_000), requestsPerSecond });
    return await measure(site).finally(site.close);
  });
  return toMeasures(results);
}

async function measure(site: Site): Promise<BudgetFigures> {
  const names = Array.from({ length: orders }, () => randomUUID());
  const start = await during(site, async () => {
    await closedLoop({ count: orders, inFlight: 16, limitMs }, (index) =>
      startDriving(site, { at, orderId: names[index] ?? '' }),
    );
    await allWatched(site, orders);
  });
  const alone = await during(site, () => sleep(aloneS * 1_000));
  const distances = names.flatMap((orderId) => readDistancesMs(alone.entries, orderId));
  const sorted = Float64Array.from(distances).sort();
  const rides = createFaretrailClient({ client: site.client, taskQueue: site.taskQueue });
  const call = async (): Promise<number> => {
    const input = {
      account,
      operation: 'orderDetails' as const,
      key: randomUUID(),
      orderId: toOrderId(names[0] ?? ''),
    };
    return (await rides.call(input)).status;
  };
  const busy = await during(site, () => openLoad({ perSecond: callsPerSecond, seconds: busyS }, call));
  const budget = (seconds: number): number => seconds * requestsPerSecond;
  const stopped = await during(site, async () => {
    await (await holderOf(site)).stop();
    await sleep(afterStopS * 1_000);
  });
  const killed = await during(site, async () => {
    await (await holderOf(site)).kill();
    await sleep(afterKillS * 1_000);
  });
  const most = (entries: Phase['entries']): number => mostCallsWithin(windowMs, entries) / budget(windowMs / 1_000);
  return {
    alone: alone.entries.length / budget(alone.seconds),
    busyAll: busy.entries.length / budget(busy.seconds),
    busyPolls: (busy.entries.length - callsPerSecond * busyS) / budget(busy.seconds),
    mostStart: most(start.entries),
    mostAlone: most(alone.entries),
    mostBusy: most(busy.entries),
    mostHands: most([...stopped.entries, ...killed.entries]),
    most: most(requestsOf(site)),
    distanceP99: quantile(sorted, 0.99) / 1_000,
    distanceMax: quantile(sorted, 1) / 1_000,
    gapStopS: longestGapS(stopped),
    gapKillS: longestGapS(killed),
  };
}

const requestsOf = ({ sandbox }: Site) => sandbox.ledger({ operation: 'orderDetails' });

interface Phase {
  startedAt: number;
  seconds: number;
  entries: ReturnType<typeof requestsOf>;
}

async function during(site: Site, what: () => Promise<unknown>): Promise<Phase> {
  const startedAt = Date.now();
  await what();
  const since = new Date(startedAt).toISOString();
  return {
    startedAt,
    seconds: (Date.now() - startedAt) / 1_000,
    entries: site.sandbox.ledger({ operation: 'orderDetails', since }),
  };
}

function longestGapS({ startedAt, entries }: Phase): number {
  const times = [startedAt, ...entries.map((entry) => Date.parse(entry.at))];
  return Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? time))) / 1_000;
}

/** The worker process with the watch. */
async function holderOf({ client, taskQueue, workers }: Site): Promise<WorkerProcess> {
  let holder: WorkerProcess | undefined;
  await until('no worker holds the watch', async () => {
    const identity = (await readWatch(client, taskQueue, account))?.worker ?? '';
    holder = workers.find(({ pid }) => identity.startsWith(`${pid}@`));
    return holder !== undefined;
  });
  return holder as unknown as WorkerProcess;
}

function toMeasures(results: readonly BudgetFigures[]): Measure[] {
  const name = `${orders} orders at ${requestsPerSecond} requests/s`;
  const measure = (what: string, unit: string, better: 'lower' | 'higher', key: keyof BudgetFigures): Measure => ({
    ...{ name: `${name}: ${what}`, unit, better },
    rounds: alone(results.map((one) => one[key])),
  });
  const fairS = orders / (requestsPerSecond * mean(results.map(({ alone }) => alone)));
  const latestS = Math.round(fairS * 1.3);
  return [
    {
      ...measure('share of the budget that polls get while nothing else calls', '', 'higher', 'alone'),
      goal: { text: 'at least 0.6', of: 'value', limit: 0.6 },
    },
    measure(`share of polls beside ${callsPerSecond} calls/s`, '', 'higher', 'busyPolls'),
    measure(`polls and ${callsPerSecond} calls/s together`, '', 'lower', 'busyAll'),
    measure('most requests in any ten seconds, by the budget, as the orders start', '', 'lower', 'mostStart'),
    measure('the same, alone', '', 'lower', 'mostAlone'),
    measure(`the same, beside ${callsPerSecond} calls/s`, '', 'lower', 'mostBusy'),
    measure('the same, while the watch changes hands', '', 'lower', 'mostHands'),
    {
      ...measure('the same, of all ten seconds', '', 'lower', 'most'),
      ...atMost(1.3),
    },
    measure(`between two polls of an order, fair would be ${fairS.toFixed(1)}: p99`, 's', 'lower', 'distanceP99'),
    {
      ...measure('between two polls of an order, longest', 's', 'lower', 'distanceMax'),
      ...atMost(latestS, 's'),
    },
    {
      ...measure('no poll after SIGTERM of the holder', 's', 'lower', 'gapStopS'),
      ...atMost(3, 's'),
    },
    {
      ...measure('no poll after kill -9 of the holder', 's', 'lower', 'gapKillS'),
      ...atMost(45, 's'),
    },
  ];
}
