import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { StoredChange } from '../../src/domain/notify/notices.js';
import { openStore, type Store } from '../../src/store/store.js';
import { startPostgres } from '../stack/postgres/postgres.js';
import { deskOrigin, startLocalProcess } from '../stack/run/process-child.js';
import { startDevServer } from '../stack/temporal/dev-server.js';
import { freePort } from '../stack/temporal/free-port.js';
import type { Listing } from './report.js';
import { inFolder } from './rounds.js';
import type { TemporalSource } from './site.js';
import { cpuMsOfFamily, postgresPid } from './usage.js';

/** What the bench of the desk is asked for. */
export interface DeskOptions {
  orders: number;
  viewers: number;
  seconds: number;
  temporal: TemporalSource;
  say: (line: string) => void;
}

const account = 'business';
const changesPerSecond = 10;
const requests = 200;

/** How soon pages over many orders come, and what live pages cost the store. */
export async function benchDesk({ orders, viewers, seconds, temporal, say }: DeskOptions): Promise<Listing> {
  return await inFolder((data) =>
    inFolder(async (folder) => {
      const postgres = await startPostgres(data, say);
      const store = openStore(postgres.url);
      await store.rehearse();
      const admin = new Client({ connectionString: postgres.url });
      await admin.connect();
      say(`${orders} orders with three changes each`);
      for (const statement of filled(orders)) await admin.query(statement);
      const server = 'program' in temporal ? await startServer(temporal, join(folder, 'temporal.db')) : null;
      const { PATH, HOME } = process.env;
      const address = 'address' in temporal ? temporal.address : server?.address;
      const here = { PATH, HOME, FARETRAIL_STORE_URL: postgres.url, TEMPORAL_ADDRESS: address };
      const desk = await startLocalProcess('desk', { ...here, FARETRAIL_DESK_PORT: '0' }, folder);
      const origin = deskOrigin(desk);
      try {
        const rows: Listing['rows'][number][] = [];
        for (const [name, path, form] of pages(orders)) {
          say(`${name}: ${requests} requests`);
          rows.push({ name, values: await measurePage(origin, path, form) });
        }
        const none = await costWhile(admin, store, { orders, seconds, origin, viewers: 0, say });
        const live = await costWhile(admin, store, { orders, seconds, origin, viewers, say });
        const costs = [Number.NaN, Number.NaN, Number.NaN];
        rows.push({ name: 'store: CPU of all it does, no live page', values: [...costs, none] });
        rows.push({ name: `the same with ${viewers} live pages`, values: [...costs, live] });
        const columns = ['first byte p50, ms', 'p95, ms', 'page, kB', '% of a core'];
        return { name: `desk over ${orders} orders`, columns, rows };
      } finally {
        await desk.stop();
        await admin.end();
        await store.close();
        await server?.stop();
        await postgres.stop();
      }
    }),
  );
}

/** As workers would have written them, one by one. */
const filled = (orders: number): string[] => [
  `insert into faretrail.orders select '${account}', 'order-' || n, 'Trip ' || n || ' of a guest',
    (array['Pending','Routing','Confirmed','Driving','Completed'])[1 + n % 5], 'x', now() - n * interval '1 second', n % 5 = 4,
    case when n % 5 = 4 then 'completed' end, null, 3, now() - n * interval '1 second' from generate_series(1, ${orders}) n`,
  `update faretrail.orders set status = 'Rare' where order_id = 'order-${orders}'`,
  `insert into faretrail.order_changes (account, order_id, change, id, run, notice, type, at, status, raw_status, since)
    select '${account}', 'order-' || n, c, n || '_' || c, 'run-' || n, c, 'order.changed', now(), 'Driving', 'x', now()
    from generate_series(1, ${orders}) n, generate_series(1, 3) c`,
  `insert into faretrail.rides (account, request_id, order_id, ended, changed_at, run, notice)
    select '${account}', 'trip-' || n, 'order-' || n, false, now(), 'ride-' || n, 1 from generate_series(1, ${orders} / 2) n`,
  `insert into faretrail.attention (kind, account, id, code, message, since)
    select 'order', '${account}', 'order-' || n, 'latePickup', 'The pick-up was due.', now() from generate_series(1, 50) n`,
  'analyze',
];

async function startServer({ program }: { program: string }, databaseFile: string) {
  return await startDevServer({ program, databaseFile, port: await freePort(), metricsPort: 0 });
}

const pages = (orders: number): [name: string, path: string, form?: Record<string, string>][] => [
  ['what needs somebody', '/'],
  ['orders, first page', '/orders'],
  ['orders, half way down', `/orders?before=${cursorAt(orders / 2)}`],
  ['orders of a rare status', '/orders?status=Rare'],
  ['an order', '/orders/business/order-7'],
  ['search by reference', '/search', { text: `Trip ${orders - 1} of` }],
  ['search that fits many', '/search', { text: 'trip' }],
];

const cursorAt = (secondsAgo: number): string =>
  Buffer.from(JSON.stringify([new Date(Date.now() - secondsAgo * 1_000).toISOString(), account, 'x'])).toString(
    'base64url',
  );

/** Signs in as the local user. */
async function sessionAt(origin: string): Promise<{ cookie: string; csrf: string }> {
  const answer = await fetch(origin);
  const [cookie = ''] = answer.headers.get('set-cookie')?.split(';') ?? [];
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await answer.text()) ?? [];
  return { cookie, csrf };
}

async function measurePage(origin: string, path: string, form?: Record<string, string>): Promise<number[]> {
  const { cookie, csrf } = await sessionAt(origin);
  const init: RequestInit = { headers: { cookie }, redirect: 'manual' };
  if (form) Object.assign(init, { method: 'POST', body: new URLSearchParams({ csrf, ...form }) });
  const times: number[] = [];
  let bytes = 0;
  for (let at = 0; at < requests; at += 1) {
    if (at % 20 === 0) await sleep(1_100); // viewers within a second share a look
    const since = performance.now();
    const answer = await fetch(`${origin}${path}`, init);
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    times.push(performance.now() - since);
    bytes = first?.value?.length ?? 0;
    for (let more = await reader?.read(); more && !more.done; more = await reader?.read()) bytes += more.value.length;
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return [at(0.5), at(0.95), bytes / 1_000, Number.NaN];
}

interface Watched {
  orders: number;
  seconds: number;
  origin: string;
  viewers: number;
  say: (line: string) => void;
}

/** CPU of PostgreSQL while orders change, in percent of a core. */
async function costWhile(
  admin: Client,
  store: Store,
  { orders, seconds, origin, viewers, say }: Watched,
): Promise<number> {
  say(`${viewers} live pages, ${changesPerSecond} changes a second, ${seconds} s`);
  const stopped = new AbortController();
  const paths = ['/', '/orders', '/orders/business/order-7'];
  const open = Array.from({ length: viewers }, (_, at) => watchPage(origin, paths[at % 3] ?? '/', stopped.signal));
  await sleep(3_000);
  const server = await postgresPid(admin);
  const before = cpuMsOfFamily(server);
  const since = performance.now();
  for (let n = 0; performance.now() - since < seconds * 1_000; n += 1) {
    await store.record(changeOf(n, orders));
    await sleep(Math.max(0, (n + 1) * (1_000 / changesPerSecond) - (performance.now() - since)));
  }
  const used = cpuMsOfFamily(server) - before;
  stopped.abort();
  await Promise.allSettled(open);
  return (used / (performance.now() - since)) * 100;
}

function changeOf(n: number, orders: number): StoredChange {
  const at = new Date().toISOString();
  const orderId = toOrderId(`order-${(n * 7) % orders}`);
  const state = {
    status: 'Driving',
    rawStatus: `at ${at} ${n}`,
    since: at,
    terminal: false,
    outcome: null,
    attention: null,
  };
  const change = { account: toAccountName(account), orderId, ...state };
  return { run: `bench-${at}-${n}`, notice: 1, at, type: 'order.changed', change } as StoredChange;
}

/** Shows a page anew at most once in a second or two when it has changed, as its script does. */
export async function watchPage(origin: string, path: string, signal: AbortSignal): Promise<void> {
  const { cookie } = await sessionAt(origin);
  const headers = { cookie };
  const { body } = await fetch(`${origin}/live`, { headers, signal });
  const topic =
    { '/': 'needs', '/orders': 'orders' }[path] ?? path.slice(1).replace('orders', 'order').replaceAll('/', ' ');
  let isWaiting = false;
  const showAnew = async () => {
    isWaiting = true;
    await sleep(1_000 + Math.random() * 1_000, undefined, { signal });
    isWaiting = false;
    await (await fetch(`${origin}${path}`, { headers, signal })).text();
  };
  for await (const chunk of body ?? []) {
    const isMine = Buffer.from(chunk).toString().includes(`"${topic}"`);
    if (isMine && !isWaiting) void showAnew().catch(() => undefined);
  }
}
