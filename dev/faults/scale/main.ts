import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Table from 'cli-table3';
import { Command } from 'commander';
import { Client } from 'pg';
import { watchPage } from '../../bench/desk.js';
import { until } from '../../stack/run/until.js';
import { type Member, whenUp } from '../chaos/member.js';
import { together, type Verdict } from '../chaos/verdict.js';
import { numberUpTo, openProfile } from '../profile.js';
import { type Fleet, openFleet } from './fleet.js';
import { type Hour, judgeAnnounced, judgeOrders, judgeProcesses, judgeReads } from './judge.js';
import { createOrders, rampMs, type Wanted } from './orders.js';
import { openWatching, type Seen } from './watching.js';

interface Flags extends Wanted {
  minutes: number;
  hours: number;
  json: boolean;
}

const { say, onEnd, exitWith } = openProfile('scale');
process.setMaxListeners(30); // one for each process of the deployment

/** A worker and a server each in turn are killed so often, and start again after a moment. */
const killEveryMs = 300_000;
const awayMs = 5_000;
const upWithinMs = 120_000;
const viewers = 5;
const pages = ['/', '/orders'];
/** Then a viewer has to sign in again. */
const sessionMs = 3_590_000;
/** From a change to a row, beside the wait for a poll. */
const slackMs = 180_000;
const idleMs = 60_000;

async function run({ minutes, hours, ...wanted }: Omit<Flags, 'json'>): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-scale-'));
  chmodSync(folder, 0o711);
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const fleet = await openFleet(folder, say, onEnd);
  const idle = await coresWithout(fleet);
  const orders = createOrders(fleet, hours * 3_600_000);
  say(`starting ${wanted.polled} polled and ${wanted.announced} announced orders, ${rampMs(wanted) / 1_000} s`);
  await tellWhile(orders.beginAll(wanted), () => `${orders.all().length} are started`);
  const keeping = new AbortController();
  const kept = orders.keepUp(keeping.signal);
  say('waiting until all were read');
  await whenRead(fleet, wanted);
  const hour: Hour = { from: Date.now(), until: Date.now() + minutes * 60_000 };
  say(`all are followed; ${minutes} minutes begin`);
  const watching = await openWatching(fleet, say);
  const desk = openDesk(fleet);
  await Promise.all([sleep(hour.until - hour.from), killInTurn(fleet, hour, watching.lookAtCpu)]);
  keeping.abort();
  await kept;
  const seen = await watching.end();
  const kills = fleet.workers.flatMap((worker) => worker.starts().map(({ at }) => at - awayMs));
  const reads = judgeReads(seen.calls, { ...hour, kills }, wanted);
  const sureMs = longestIn(reads) * 1_000 + slackMs;
  say(`the time is over; the last changes have ${Math.round(sureMs / 1_000)} s`);
  await sleep(sureMs);
  const isEmpty = async () => (await fleet.waiting()) === 0;
  await until('deliveries wait in a journal', isEmpty, { withinMs: upWithinMs, everyMs: 1_000 });
  seen.emptyAt.push(Date.now());
  desk.close();
  say('judging the result');
  return together([
    reads,
    await judgeOrders(fleet, orders.all(), { ...hour, sureMs }),
    await judgeAnnounced(fleet, seen),
    judgeProcesses(fleet, seen),
    { problems: [...orders.problems, ...desk.problems()], figures: costsOf(seen, idle, changesIn(orders.all(), hour)) },
    { problems: [], figures: { 'databases of Temporal, MB': await megabytesAt(fleet.cluster.postgres.url) } },
  ]);
}

const longestIn = ({ figures }: Verdict): number =>
  Math.max(...Object.entries(figures).map(([name, seconds]) => (name.endsWith('longest') ? seconds : 0)));

/** CPU of each part while there is no order, as a share of the time. */
async function coresWithout(fleet: Fleet): Promise<Record<string, number>> {
  say(`without an order, ${idleMs / 1_000} s`);
  const watching = await openWatching(fleet, () => undefined);
  await sleep(idleMs);
  const { cpuMs } = await watching.end();
  return Object.fromEntries(Object.entries(cpuMs).map(([part, ms]) => [part, ms / idleMs]));
}

/** What a start or a change costs, once what all use without orders is taken off. Polls are in it. */
function costsOf({ cpuMs, forMs }: Seen, idle: Record<string, number>, changes: number): Record<string, number> {
  const each = ([part, ms]: [string, number]) => [
    `CPU of ${part} for a start or change, ms`,
    (ms - (idle[part] ?? 0) * forMs) / changes,
  ];
  const without = Object.entries(idle).map(([part, cores]) => [`cores of ${part} without orders`, cores]);
  return { 'starts and changes': changes, ...Object.fromEntries([...without, ...Object.entries(cpuMs).map(each)]) };
}

const changesIn = (orders: ReturnType<ReturnType<typeof createOrders>['all']>, { from, until }: Hour): number =>
  orders.flatMap(({ course }) => course).filter(({ at }) => at >= from && at < until).length;

async function megabytesAt(connectionString: string): Promise<number> {
  const client = new Client({ connectionString });
  await client.connect();
  const answer = client.query<{ bytes: string }>('select sum(pg_database_size(datname)) as bytes from pg_database');
  const { rows } = await answer.finally(() => client.end());
  return Number(rows[0]?.bytes) / 1_000_000;
}

async function tellWhile(going: Promise<void>, line: () => string): Promise<void> {
  const telling = setInterval(() => say(line()), 60_000);
  await going.finally(() => clearInterval(telling));
}

/** Waits until the first reads are over. */
async function whenRead({ client }: Fleet, { polled, announced }: Wanted): Promise<void> {
  const isThere = async () => {
    const query = 'WorkflowType = "followOrder" AND ExecutionStatus = "Running" AND RideStatus IS NOT NULL';
    return (await client.workflow.count(query)).count >= (polled + announced) * 0.97; // some have ended meanwhile
  };
  await until('not all orders were read', isThere, { withinMs: 1_200_000, everyMs: 5_000 });
}

/** Half way between two kills of a server, a worker is killed. */
async function killInTurn({ cluster, workers }: Fleet, { from, until }: Hour, before: () => void): Promise<void> {
  const turns = Math.floor((until - from) / killEveryMs);
  for (let i = 0; i < turns; i += 1) {
    const targets = [cluster.servers[i % cluster.servers.length], workers[i % workers.length]];
    for (const [half, target] of targets.entries()) {
      await sleep(Math.max(0, from + (i + half / 2 + 0.25) * killEveryMs - Date.now()));
      if (target) await killOnce(target, before);
    }
  }
}

async function killOnce(target: Member, before: () => void): Promise<void> {
  before();
  say(`kill -9 of ${target.name}`);
  await target.kill();
  await sleep(awayMs);
  await target.start();
  await whenUp(target, upWithinMs);
}

/** People look at live pages all the time. */
function openDesk({ deskOrigin }: Fleet): { problems(): string[]; close(): void } {
  const stopped = new AbortController();
  const problems: string[] = [];
  const { signal } = stopped;
  const view = async (page: string): Promise<void> => {
    while (!signal.aborted) {
      const since = Date.now();
      await watchPage(deskOrigin, page, signal);
      if (!signal.aborted && Date.now() - since < sessionMs) return void problems.push('the desk ended a live page');
    }
  };
  for (let i = 0; i < viewers; i += 1) {
    const viewing = view(pages[i % pages.length] ?? '/');
    viewing.catch((error: unknown) => !signal.aborted && problems.push(`a live page failed: ${error}`));
  }
  return { problems: () => problems, close: () => stopped.abort() };
}

function toText({ problems, figures }: Verdict): string {
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  for (const [name, figure] of Object.entries(figures))
    table.push([name, figure.toLocaleString('en-US', { maximumFractionDigits: 2 })]);
  const told = problems.slice(0, 40).join('\n');
  return `${table}\n${problems.length === 0 ? 'nothing is wrong' : `WRONG, ${problems.length}:\n${told}`}`;
}

const orderCount = numberUpTo(100_000, { isWhole: true });
const { json, ...flags } = new Command('scale')
  .description(
    'Follows thousands of live orders on three Temporal servers while servers and workers are killed, and judges.',
  )
  .option('--minutes <n>', 'how long it is measured', numberUpTo(600, { isWhole: false }), 60)
  .option('--polled <n>', 'live orders of three accounts whose changes polls find', orderCount, 10_000)
  .option('--announced <n>', 'live orders of one account whose changes deliveries announce', orderCount, 2_000)
  .option('--hours <n>', 'how long an order lasts', numberUpTo(100, { isWhole: false }), 4)
  .option('--json', 'print the figures as JSON', false)
  .allowExcessArguments(false)
  .parse()
  .opts<Flags>();

await exitWith(async () => {
  const verdict = await run(flags);
  console.log(json ? JSON.stringify(verdict, null, 2) : toText(verdict));
  return verdict.problems.length === 0 ? 0 : 1;
});
