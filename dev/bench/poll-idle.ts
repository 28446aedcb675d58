import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { toAccountName } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { until } from '../stack/run/until.js';
import { allWatched, startDriving } from './poll-costs.js';
import { alone, atMost, type Measure } from './report.js';
import { type Rounds, repeat } from './rounds.js';
import { actionsWhile, countsOf, isHeartbeat, parseActions, sumOf } from './server-counts.js';
import { type BenchPlace, openSite, type Site } from './site.js';

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
export async function benchIdle(place: BenchPlace, asked: Rounds): Promise<Measure[]> {
  const results = await repeat(asked, `polls, actions of an idle account, about ${2 * stretchS + 200} s`, async () => {
    const site = await openSite(place, { workers: 1 });
    return await idleFigures(site).finally(site.close);
  });
  const measureOf = (name: string, key: keyof IdleFigures): Measure => ({
    ...{ name, unit: '', better: 'lower', rounds: alone(results.map((one) => one[key])) },
  });
  return [
    measureOf('actions of the start of a worker, each account', 'start'),
    {
      ...measureOf('actions of an account without live orders, a day, heartbeats included', 'idle'),
      ...atMost(0),
    },
    measureOf('actions of an account with a live order that does not change, a day, without heartbeats', 'watched'),
    measureOf('heartbeats of such an account, a day', 'beats'),
  ];
}

export async function idleFigures(site: Site): Promise<IdleFigures> {
  const { client, taskQueue, temporal } = site;
  const areOver = async () => {
    const watches = await Promise.all(accounts.map((account) => readWatch(client, taskQueue, account)));
    return watches.every((watch) => watch === null);
  };
  await sleep(2_000);
  await until('the watch of an account without orders did not end', areOver, { withinMs: limitMs, everyMs: 2_000 });
  await sleep(2_000);
  const started = await countsOf(temporal.metricsUrl, parseActions);
  const stretch = () => actionsWhile(temporal, () => sleep(stretchS * 1_000));
  const idle = await stretch();
  await startDriving(site, { at: 'partner', orderId: randomUUID() });
  await allWatched(site, 1);
  await sleep(5_000);
  const live = await stretch();
  const aDay = (count: number): number => (count * daySeconds) / stretchS;
  return {
    start: sumOf(started) / accounts.length,
    idle: aDay(sumOf(idle)) / accounts.length,
    watched: aDay(sumOf(live, (action) => !isHeartbeat(action))),
    beats: aDay(sumOf(live, isHeartbeat)),
  };
}
