import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultCadence } from '../../src/config.js';
import { toAccountName } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { type Actions, actionsBetween, actionsOfServer, heartbeats, sumOfActions } from './actions.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { allWatched } from './poll-costs.js';
import type { Measure } from './report.js';

const daySeconds = 86_400;
const stretchS = 120;
const limitMs = 420_000;
const accounts = ['partner', 'business'].map((name) => toAccountName(name));

interface IdleFigures {
  /** What the start of a worker costs until the watches of its accounts have ended; of each account. */
  start: number;
  /** Of each account, in a day. */
  idle: number;
  watched: number;
  beats: number;
}

/** Counts the actions of an account, by the server: without live orders once its watch has ended, and with one order that does not change. */
export async function benchIdle(
  place: BenchPlace,
  { rounds, say }: { rounds: number; say: (line: string) => void },
): Promise<Measure[]> {
  const results: IdleFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(
      `polls: actions of an idle account, round ${round + 1} of ${rounds}, about ${Math.round(2 * stretchS + 200)} s`,
    );
    const cell = await openCell(place, { side: 'faretrail', processes: 1, cadence: defaultCadence });
    try {
      results.push(await measure(cell));
    } finally {
      await cell.close();
    }
  }
  const measureOf = (name: string, key: keyof IdleFigures): Measure => ({
    ...{ name, unit: '', better: 'lower' },
    rounds: results.map((one) => ({ faretrail: one[key], plain: Number.NaN })),
  });
  return [
    measureOf('actions of the start of a worker, each account', 'start'),
    {
      ...measureOf('actions of an account without live orders, a day, heartbeats included', 'idle'),
      goal: { text: 'none', of: 'value', limit: 0 },
    },
    measureOf('actions of an account with a live order that does not change, a day, without heartbeats', 'watched'),
    measureOf('heartbeats of such an account, a day', 'beats'),
  ];
}

async function measure(cell: Cell): Promise<IdleFigures> {
  const { metricsUrl } = cell.server;
  await noWatchLeft(cell);
  const started = await actionsOfServer(metricsUrl);
  const idle = await during(metricsUrl);
  const orderId = randomUUID();
  cell.sandbox.addOrder({ interface: 'partner', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  await cell.start({ at: 'partner', orderId });
  await allWatched(cell, 1);
  await sleep(5_000);
  const live = await during(metricsUrl);
  const aDay = (count: number): number => (count * daySeconds) / stretchS;
  return {
    start: (sumOfActions(started) + beatsOf(started)) / accounts.length,
    idle: aDay(sumOfActions(idle) + beatsOf(idle)) / accounts.length,
    watched: aDay(sumOfActions(live)),
    beats: aDay(beatsOf(live)),
  };
}

const beatsOf = (actions: Actions): number => actions.get(heartbeats) ?? 0;

async function during(metricsUrl: string | null): Promise<Actions> {
  const before = await actionsOfServer(metricsUrl);
  await sleep(stretchS * 1_000);
  return actionsBetween(before, await actionsOfServer(metricsUrl));
}

async function noWatchLeft({ client, taskQueue }: Cell): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    await sleep(2_000);
    const watches = await Promise.all(accounts.map((account) => readWatch(client, taskQueue, account)));
    if (watches.every((watch) => watch === null)) return;
    if (Date.now() > deadline) throw new Error('the watch of an account without orders did not end');
  }
}
