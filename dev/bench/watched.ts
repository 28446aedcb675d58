import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultCadence } from '../../src/config.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { jitterShare } from '../../src/domain/order/cadence.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { closedLoop } from './closed-loop.js';
import { nodeFlags, workerEnv } from './memory.js';
import { openLoad, quantile } from './open-load.js';
import { allWatched, settleMs } from './poll-costs.js';
import type { Listing } from './report.js';
import { inFolder } from './rounds.js';
import { moreAccountNames } from './settings.js';
import { openSite, type Site, type TemporalSource, workerOf } from './site.js';
import { median } from './statistics.js';
import { type Usage, usageWhile } from './usage.js';
import type { WatchState, WorkerState } from './worker-process.js';

export interface WatchedOptions {
  temporal: TemporalSource;
  orders: number;
  accounts: number;
  perSecond: number;
  minutes: number;
  say: (line: string) => void;
}

/** One account is at the business interface. */
const usual = 1;
const lanes = 24;
const limitMs = 1_800_000;
const idleMs = 20_000;
/** The most that polls get of a budget. */
const watchShare = 0.9;
/** A prime, so that the changes go round all orders. */
const stride = 7_919;
/** A ride of four hours has seven changes. */
const changesPerOrderHour = 7 / 4;
const statuses = ['Driving', 'Waiting', 'Transporting', 'ActiveOrder'];
const mebibyte = 1_048_576;
/** So many changed orders tell how late their changes were found. */
const sampled = 300;

/** One worker, the server, the service and this bench on one machine, with many live orders that are polled. */
export async function benchWatched(options: WatchedOptions): Promise<Listing> {
  const { temporal, accounts, perSecond: requestsPerSecond } = options;
  return await inFolder(async (folder) => {
    const site = await openSite(
      { folder, temporal },
      { workers: 1, requestsPerSecond, moreAccounts: accounts - usual, nodeFlags, workerEnv },
    );
    return await measure(site, options).finally(site.close);
  });
}

interface Live {
  account: string;
  orderId: string;
  /** The present status, as an index. */
  status: number;
  changedAt: number;
}

interface Figures {
  startS: number;
  idle: Usage;
  used: Usage;
  /** Of each minute. */
  minutes: readonly WatchState[];
  changed: number;
  seen: Awaited<ReturnType<typeof seenOf>>;
  memory: Record<'before' | 'ready' | 'after', WorkerState>;
}

async function measure(site: Site, options: WatchedOptions): Promise<Listing> {
  const { orders, accounts, perSecond, say } = options;
  await sleep(5_000);
  const idle = await usageWhile(site, () => sleep(idleMs));
  const before = await workerOf(site).state();
  const startedAt = Date.now();
  const live = await startAll(site, options);
  await allWatched(site, orders, say);
  const startS = (Date.now() - startedAt) / 1_000;
  await sleep(settleMs);
  const ready = await workerOf(site).state();
  say(`watched: all on the watch after ${startS.toFixed(0)} s; ${options.minutes} minutes begin`);
  const minutes: WatchState[] = [];
  const used = await usageWhile(site, () => play(site, live, options, minutes));
  const changed = live.filter(({ changedAt }) => changedAt > 0);
  const roundS = Math.max(defaultCadence.activeMs / 1_000, orders / accounts / perSecond / watchShare);
  await sleep(roundS * 2_000);
  const after = await workerOf(site).state('state without garbage');
  const seen = await seenOf(site, changed);
  const memory = { before, ready, after };
  return {
    name: `${orders} live polled orders, ${accounts} accounts at ${perSecond}/s, ${options.minutes} min`,
    columns: ['figure'],
    rows: toRows(options, { startS, idle, used, minutes, changed: changed.length, seen, memory }),
  };
}

/** Orders change at the rate of rides of four hours, and each minute tells of its polls. */
async function play(site: Site, live: readonly Live[], { minutes, orders, say }: WatchedOptions, told: WatchState[]) {
  const load = { perSecond: (orders * changesPerOrderHour) / 3_600, seconds: minutes * 60 };
  const changing = openLoad(load, async (index) => {
    change(site, live[(index * stride) % live.length] as Live);
    return 0;
  });
  for (let minute = 1; minute <= minutes; minute += 1) {
    await sleep(60_000);
    const { watch, rssBytes } = await workerOf(site).state();
    told.push(watch);
    const { polls, late } = watch;
    say(
      `watched: minute ${minute}: ${polls.unchanged} unchanged, ${polls.changed} changed, ${polls.failed} failed; ` +
        `late ${late.p50} ms p50, ${late.p99} ms p99; worker ${Math.round(rssBytes / mebibyte)} MiB`,
    );
  }
  await changing;
}

function toRows({ orders, accounts, perSecond }: WatchedOptions, figures: Figures): Listing['rows'] {
  const { idle, used, minutes, seen, memory } = figures;
  const cores = (of: 'serverMs' | 'workerMs' | 'benchMs', { seconds, ...usage }: Usage): number =>
    usage[of] / seconds / 1_000;
  const perPoll = (of: 'serverMs' | 'workerMs'): number => ((cores(of, used) - cores(of, idle)) * 1_000) / reached;
  const sum = (of: (state: WatchState) => number): number => minutes.reduce((all, state) => all + of(state), 0);
  const reached = sum(({ polls }) => polls.unchanged + polls.changed) / used.seconds;
  const rss = ({ rssBytes }: WorkerState): number => rssBytes / mebibyte;
  const rows: [string, number][] = [
    ['started, read and on the watch, orders per second', orders / figures.startS],
    ['polls per second, wanted by the pace', (orders * 1_000) / defaultCadence.activeMs / (1 + jitterShare / 2)],
    ['polls per second, the most within the budget', accounts * perSecond * watchShare],
    ['polls per second, reached', reached],
    ['polls that failed', sum(({ polls }) => polls.failed)],
    ['late, p50, s (the middle of the minutes)', median(minutes.map(({ late }) => late.p50)) / 1_000],
    ['late, p99, s (the worst minute)', Math.max(...minutes.map(({ late }) => late.p99)) / 1_000],
    ['cores of the server', cores('serverMs', used)],
    ['cores of the server, without orders', cores('serverMs', idle)],
    ['cores of the worker', cores('workerMs', used)],
    ['cores of the worker, without orders', cores('workerMs', idle)],
    ['cores of service and bench', cores('benchMs', used)],
    ['CPU of the server for each poll, changes included, ms', perPoll('serverMs')],
    ['CPU of the worker for each poll, changes included, ms', perPoll('workerMs')],
    ['orders changed', figures.changed],
    ['of them shown by their runs', seen.seen],
    ['change to timeline, p50, s', seen.p50],
    ['change to timeline, p99, s', seen.p99],
    ['memory of the worker, without orders, MiB', rss(memory.before)],
    ['memory of the worker, all on the watch, MiB', rss(memory.ready)],
    ['memory of the worker, at the end, without garbage, MiB', rss(memory.after)],
    ['its peak, MiB', memory.after.peakRssBytes / mebibyte],
    ['cached runs', memory.after.cachedRuns],
  ];
  return rows.map(([name, value]) => ({ name, values: [value] }));
}

async function startAll(site: Site, { orders, accounts, say }: WatchedOptions): Promise<Live[]> {
  const names = ['partner', ...moreAccountNames(accounts - usual)];
  let started = 0;
  return await closedLoop({ count: orders, inFlight: lanes, limitMs }, async (index) => {
    const account = names[index % accounts] ?? 'partner';
    const orderId = randomUUID();
    site.sandbox.addOrder({ interface: 'partner', orderId, script: [{ status: statuses[0] ?? '', afterMs: 0 }] });
    const key = { account: toAccountName(account), orderId: toOrderId(orderId) };
    const options = { workflowId: followOrderId(key), taskQueue: site.taskQueue, args: [key] };
    await site.client.workflow.start('followOrder', options);
    started += 1;
    if (started % 1_000 === 0) say(`watched: ${started} orders started`);
    return { account, orderId, status: 0, changedAt: 0 };
  });
}

function change({ sandbox }: Site, order: Live): void {
  order.status = (order.status + 1) % statuses.length;
  order.changedAt = Date.now();
  sandbox.setStatus('partner', order.orderId, statuses[order.status] ?? '');
}

/** How many runs show the last change of their order, and how late some of them recorded it. */
async function seenOf({ client }: Site, changed: readonly Live[]) {
  const handleOf = ({ account, orderId }: Live) => client.workflow.getHandle(`order/${account}/${orderId}`);
  const shown = await closedLoop({ count: changed.length, inFlight: lanes, limitMs }, async (index) => {
    const order = changed[index] as Live;
    const { searchAttributes } = await handleOf(order).describe();
    return searchAttributes.RideStatus?.[0] === statuses[order.status];
  });
  const some = changed.slice(-sampled);
  const lateS = await closedLoop({ count: some.length, inFlight: 4, limitMs }, async (index) => {
    const order = some[index] as Live;
    const { timeline } = await handleOf(order).query<OrderTrail>('orderTrail');
    return (Date.parse(timeline.at(-1)?.at ?? '') - order.changedAt) / 1_000;
  });
  const sorted = Float64Array.from(lateS).sort();
  return { seen: shown.filter(Boolean).length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
