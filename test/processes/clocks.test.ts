import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it, type TestContext, vi } from 'vitest';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { isLong } from '../support/long.js';
import { startNotifyReceiver } from '../support/notify/receiver.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { isWatched } from '../support/runs.js';
import { startFleet } from '../support/worker/fleet.js';
import { runStarter } from '../support/worker/process.js';

const minute = 60_000;
const hour = 60 * minute;
const orders = 10;
/** The promise is 30 s; a busy machine stretches that. */
const servedInTime = { timeout: isLong ? 30_000 : 3 * minute, interval: 200 };

/** The environment of a process whose wall clock a test sets. */
function shiftedClock(aheadMs: number) {
  const clockFile = join(mkdtempSync(join(tmpdir(), 'faretrail-clock-')), 'ahead-ms');
  const setClock = (ms: number) => writeFileSync(clockFile, String(ms));
  setClock(aheadMs);
  const preload = pathToFileURL(join(projectRoot, 'test/support/worker/shifted-clock.mjs')).href;
  return { setClock, env: { NODE_OPTIONS: `--import ${preload}`, FARETRAIL_TEST_CLOCK_FILE: clockFile } };
}

/** A worker process whose wall clock a test sets, a sandbox, and orders that are polled every two seconds. */
async function startShiftedWorker({ onTestFinished }: TestContext, aheadMs: number, tokenLifetimeSeconds: number) {
  const { setClock, env } = shiftedClock(aheadMs);
  const port = String(await freePort());
  const fleet = await startFleet(1, {
    sandbox: { business: { tokenLifetimeSeconds } },
    env: {
      ...env,
      FARETRAIL_METRICS_PORT: port,
      FARETRAIL_POLL_ACTIVE_MS: '2000',
    },
  });
  onTestFinished(() => fleet.close());
  const runs = await fleet.followOrders(orders, [['Driving', 0]], ['business']);
  for (const run of runs) await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patient);
  const polls = () => fleet.sandbox.ledger({ operation: 'orderDetails' });
  /** Waits for so many more polls that the service has served. A clock that is believed would stop them for minutes. */
  const served = (count: number): Promise<void> => {
    const before = polls().length;
    const isServed = () =>
      polls()
        .slice(before)
        .filter(({ httpStatus }) => httpStatus === 200).length >= count;
    return vi.waitFor(() => expect(isServed()).toBe(true), servedInTime);
  };
  const latenessSeconds = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/faretrail_watch_lateness_seconds\{[^}]*account="business"[^}]*\} (\S+)/.exec(text)?.[1]);
  };
  return { fleet, runs, setClock, served, latenessSeconds };
}

it.concurrent.for<[string, number]>([
  ['back ten minutes', -10 * minute],
  ['forward ten minutes', 10 * minute],
])(
  'while the wall clock of a worker steps %s, orders are polled, changes are found, and the lateness is true',
  {
    timeout: 10 * minute,
  },
  async ([, stepMs], test) => {
    const { fleet, runs, setClock, served, latenessSeconds } = await startShiftedWorker(test, 0, 900);
    await served(2 * orders);
    setClock(stepMs);
    await sleep(1_000);
    await served(2 * orders);
    await vi.waitFor(async () => expect(await latenessSeconds()).toBeLessThan(10), patient);
    const [run] = runs;
    fleet.sandbox.setStatus('business', run?.workflowId.split('/')[2] ?? '', 'Waiting');
    await shows(run ?? expect.fail('no run'), { status: 'Waiting' });
    setClock(0);
    await sleep(1_000);
    await served(2 * orders);
    await Promise.all(runs.map((one) => one.terminate()));
  },
);

it.concurrent.for<[string, number, number]>([
  ['ahead, then mended', hour, 0],
  ['behind, then mended', -hour, 0],
  ['right, then ahead', 0, hour],
  ['right, then behind', 0, -hour],
])(
  'tokens serve while the wall clock of a worker is an hour %s',
  {
    timeout: 10 * minute,
  },
  async ([, firstMs, thenMs], test) => {
    const tokenLifetimeSeconds = 15; // so that tokens are published under each of the clocks
    const { runs, setClock, served } = await startShiftedWorker(test, firstMs, tokenLifetimeSeconds);
    // By a clock that is ahead at first, a status looks old, so its order is polled more slowly.
    await served(orders / 2);
    setClock(thenMs);
    await served(orders / 2);
    await sleep(tokenLifetimeSeconds * 1_000);
    await served(orders / 2);
    await Promise.all(runs.map((one) => one.terminate()));
  },
);

it.concurrent.for([
  ['two hours ahead', 2 * hour],
  ['two hours behind', -2 * hour],
] as const)(
  'receivers take the notices of a worker whose wall clock is %s, and doctor says there how far it is off',
  { timeout: 10 * minute },
  async ([, aheadMs], { onTestFinished }) => {
    const receiver = await startNotifyReceiver();
    onTestFinished(() => receiver.close());
    const { env } = shiftedClock(aheadMs);
    const fleet = await startFleet(1, { env: { ...env, ...receiver.env } });
    onTestFinished(() => fleet.close());
    const orderId = fleet.newOrder('business', [['Driving', 0]]);
    const notify = [{ url: `${receiver.origin}/changes` }];
    const run = await startFollowing(fleet.place, { account: 'business', orderId, notify });
    await vi.waitFor(() => expect(receiver.taken('/changes')).toEqual(['Driving']), patient);
    fleet.sandbox.setStatus('business', orderId, 'Completed');
    await vi.waitFor(() => expect(receiver.taken('/changes')).toEqual(['Driving', 'Completed']), patient);
    expect(receiver.refused(), 'each was signed right at once').toBe(0);
    await run.result();
    const { output } = await runStarter(['doctor', '--json'], fleet.env);
    const { checks } = JSON.parse(output) as { checks: { name: string; result: string; message: string }[] };
    const off = `the clock of Temporal is \\d+ s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of this machine`;
    const clock = checks.find(({ name }) => name === 'clock');
    expect(clock).toMatchObject({ result: 'warned', message: expect.stringMatching(off) });
    expect(Math.abs(Number(/\d+/.exec(clock?.message ?? '')?.[0]) - 7_200)).toBeLessThan(30);
    const { NODE_OPTIONS: _, ...right } = fleet.env;
    const { output: there } = await runStarter(['doctor', '--json'], right);
    expect(JSON.parse(there).checks).toContainEqual(expect.objectContaining({ name: 'clock', result: 'ok' }));
  },
);
