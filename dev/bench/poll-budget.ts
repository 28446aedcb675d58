import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../src/client/index.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { mostCallsWithin, readDistancesMs } from '../sandbox/ledger-questions.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { openLoad, quantile } from './open-load.js';
import { allWatched } from './poll-costs.js';
import type { Measure } from './report.js';
import { mean } from './statistics.js';

const at = 'business';
const account = toAccountName(at);
const requestsPerSecond = 16;
const orders = 1_000;
const activeMs = 10_000;
const cadence = { activeMs, reservedMs: activeMs, pushedMs: activeMs };
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
export async function benchBudget(
  place: BenchPlace,
  { rounds, say }: { rounds: number; say: (line: string) => void },
): Promise<Measure[]> {
  const results: BudgetFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const seconds = aloneS + busyS + afterStopS + afterKillS + orders / 12;
    say(`polls: the budget of an account, round ${round + 1} of ${rounds}, about ${Math.round(seconds)} s`);
    const cell = await openCell(place, { side: 'faretrail', processes: 3, cadence, requestsPerSecond });
    try {
      results.push(await measure(cell));
    } finally {
      await cell.close();
    }
  }
  return toMeasures(results);
}

async function measure(cell: Cell): Promise<BudgetFigures> {
  const names = Array.from({ length: orders }, () => randomUUID());
  const start = await during(cell, async () => {
    await closedLoop({ count: orders, inFlight: 16, limitMs }, async (index) => {
      const orderId = names[index] ?? '';
      cell.sandbox.addOrder({ interface: at, orderId, script: [{ status: 'Driving', afterMs: 0 }] });
      await cell.start({ at, orderId });
    });
    await allWatched(cell, orders);
  });
  const alone = await during(cell, () => sleep(aloneS * 1_000));
  const distances = names.flatMap((orderId) => readDistancesMs(alone.entries, orderId));
  const sorted = Float64Array.from(distances).sort();
  const rides = createFaretrailClient({ client: cell.client, taskQueue: cell.taskQueue });
  const call = async (): Promise<number> => {
    const input = {
      account,
      operation: 'orderDetails' as const,
      key: randomUUID(),
      orderId: toOrderId(names[0] ?? ''),
    };
    return (await rides.call(input)).status;
  };
  const busy = await during(cell, () => openLoad({ perSecond: callsPerSecond, seconds: busyS }, call));
  const budget = (seconds: number): number => seconds * requestsPerSecond;
  const stopped = await during(cell, async () => {
    await (await holderOf(cell)).stop();
    await sleep(afterStopS * 1_000);
  });
  const killed = await during(cell, async () => {
    await (await holderOf(cell)).kill();
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
    most: most(requestsOf(cell)),
    distanceP99: quantile(sorted, 0.99) / 1_000,
    distanceMax: quantile(sorted, 1) / 1_000,
    gapStopS: longestGapS(stopped),
    gapKillS: longestGapS(killed),
  };
}

const requestsOf = ({ sandbox }: Cell) => sandbox.ledger({ operation: 'orderDetails' });

interface Phase {
  startedAt: number;
  seconds: number;
  entries: ReturnType<typeof requestsOf>;
}

async function during(cell: Cell, what: () => Promise<unknown>): Promise<Phase> {
  const startedAt = Date.now();
  await what();
  const since = new Date(startedAt).toISOString();
  return {
    startedAt,
    seconds: (Date.now() - startedAt) / 1_000,
    entries: cell.sandbox.ledger({ operation: 'orderDetails', since }),
  };
}

function longestGapS({ startedAt, entries }: Phase): number {
  const times = [startedAt, ...entries.map((entry) => Date.parse(entry.at))];
  return Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? time))) / 1_000;
}

/** The worker process with the watch. */
async function holderOf({ client, taskQueue, workers }: Cell) {
  for (let tries = 0; tries < 300; tries += 1) {
    const identity = (await readWatch(client, taskQueue, account))?.worker ?? '';
    const holder = workers.find(({ pid }) => identity.startsWith(`${pid}@`));
    if (holder) return holder;
    await sleep(200);
  }
  throw new Error('no worker holds the watch');
}

function toMeasures(results: readonly BudgetFigures[]): Measure[] {
  const name = `${orders} orders at ${requestsPerSecond} requests/s`;
  const measure = (what: string, unit: string, better: 'lower' | 'higher', key: keyof BudgetFigures): Measure => ({
    ...{ name: `${name}: ${what}`, unit, better },
    rounds: results.map((one) => ({ faretrail: one[key], plain: Number.NaN })),
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
      goal: { text: 'at most 1.3', of: 'value', limit: 1.3 },
    },
    measure(`between two polls of an order, fair would be ${fairS.toFixed(1)}: p99`, 's', 'lower', 'distanceP99'),
    {
      ...measure('between two polls of an order, longest', 's', 'lower', 'distanceMax'),
      goal: { text: `at most ${latestS} s`, of: 'value', limit: latestS },
    },
    {
      ...measure('no poll after SIGTERM of the holder', 's', 'lower', 'gapStopS'),
      goal: { text: 'at most 3 s', of: 'value', limit: 3 },
    },
    {
      ...measure('no poll after kill -9 of the holder', 's', 'lower', 'gapKillS'),
      goal: { text: 'at most 45 s', of: 'value', limit: 45 },
    },
  ];
}
