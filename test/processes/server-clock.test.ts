import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it, type TestContext, vi } from 'vitest';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { isLong } from '../support/long.js';
import { patient } from '../support/patience.js';
import { isWatched } from '../support/runs.js';
import { startShiftedServer } from '../support/server/shifted-server.js';
import { startFleet } from '../support/worker/fleet.js';

/*
 * A wrong clock of the Temporal server, then mended, with the real server and a real worker process.
 *
 * The first test shows what Temporal 1.31.2 does without any code of ours. A step ahead does no harm. After a step
 * back, until its clock shows a later time than ever before,
 * - it hands out no task of a queue that has handed out one before the step: the rate limiter of a queue
 *   (`simpleLimiter` in service/matching) compares instants of the wall clock;
 * - it fires no timer: `taskMinScheduledTime` in service/history/shard never goes back.
 * So no worker can renew a token in that time. These promises of ours hold:
 * - tokens serve within 30 s after the start, after a step ahead, and after the clock has made up for a step back;
 * - in between, the lateness of orders is shown. It starts when the token ends, since polls go on until then.
 */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const orders = 10;
const tokenLifetimeSeconds = 15; // so that tokens are published under each of the clocks
const servedWithinMs = 30 * second;
/** A few lives of a token. */
const phaseMs = 50 * second;
/** A poll that waits for a token is late only after the wait for the token and its own pace. */
const latenessSlackSeconds = 15;

it.runIf(isLong).concurrent(
  'the server alone hands out tasks and fires timers after a step ahead, and not after a step back until it is made up for',
  { timeout: 10 * minute },
  async (test) => {
    const { address, setClock } = await startShiftedServer(test, 0);
    const connection = await Connection.connect({ address });
    test.onTestFinished(() => connection.close());
    const { workflow } = new Client({ connection });
    /** Starts a run. Does a poll get its first workflow task? */
    async function handsOut(taskQueue: string, startDelay = 0): Promise<boolean> {
      const workflowId = randomUUID();
      await workflow.start('none', { taskQueue, workflowId, startDelay });
      const until = performance.now() + 10 * second;
      while (performance.now() < until) {
        const about = { namespace: 'default', taskQueue: { name: taskQueue } };
        const poll = () => connection.workflowService.pollWorkflowTaskQueue(about);
        const task = await connection.withDeadline(Date.now() + 10 * second, poll).catch(() => undefined);
        if (task?.workflowExecution?.workflowId === workflowId) return true;
      }
      return false;
    }
    const known = randomUUID();
    const served = async () => ({
      knownQueue: await handsOut(known),
      newQueue: await handsOut(randomUUID()),
      timer: await handsOut(randomUUID(), second),
    });
    const all = { knownQueue: true, newQueue: true, timer: true };
    expect(await served()).toEqual(all);
    for (const [aheadMs, expected] of [
      [hour, all],
      [0, { knownQueue: false, newQueue: true, timer: false }],
      [hour, all],
    ] as const) {
      await setClock(aheadMs);
      expect(await served(), `${aheadMs} ms ahead`).toEqual(expected);
    }
  },
);

type Scene = Awaited<ReturnType<typeof startScene>>;

/** Such a server, a worker process, a sandbox, and orders that are polled every two seconds. */
async function startScene({ onTestFinished }: TestContext, aheadMs: number) {
  const { address, setClock } = await startShiftedServer({ onTestFinished }, aheadMs);
  const port = String(await freePort());
  const fleet = await startFleet(1, {
    address,
    sandbox: { business: { tokenLifetimeSeconds } },
    env: { FARETRAIL_METRICS_PORT: port, FARETRAIL_POLL_ACTIVE_MS: '2000' },
  });
  onTestFinished(() => fleet.close());
  const follow = async (count: number) => {
    const runs = await fleet.followOrders(count, [['Driving', 0]], ['business']);
    for (const run of runs) await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patient);
    return runs;
  };
  const latenessSeconds = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/faretrail_watch_lateness_seconds\{[^}]*account="business"[^}]*\} (\S+)/.exec(text)?.[1]);
  };
  /** When the sandbox answered such requests well. */
  const answered = (operation: 'orderDetails' | 'businessToken', since: number, orderId?: string): number[] =>
    fleet.sandbox
      .ledger({ operation, since: new Date(since).toISOString(), orderId })
      .filter(({ httpStatus }) => httpStatus === 200)
      .map(({ at }) => Date.parse(at));
  const orderIds = (await follow(orders)).map(({ workflowId }) => workflowId.split('/')[2]);
  return { setClock, follow, latenessSeconds, answered, orderIds };
}

/** Tokens serve within 30 s from now on, and polls of each order go on. */
async function serves({ follow, latenessSeconds, answered, orderIds }: Scene, aheadMs: number): Promise<void> {
  const about = `${aheadMs} ms ahead`;
  const from = Date.now();
  const end = sleep(phaseMs);
  const [fresh] = await follow(1);
  const watchedAfterMs = Date.now() - from;
  const startedAheadMs = ((await fresh?.describe())?.startTime.getTime() ?? 0) - from;
  await end;
  const until = Date.now();
  const gaps = orderIds.map((orderId) => {
    const polls = [from, ...answered('orderDetails', from, orderId), until];
    return Math.max(...polls.map((at, index) => at - (polls[index - 1] ?? at)));
  });
  const tokens = answered('businessToken', from);
  expect(Math.abs(startedAheadMs - aheadMs), `clock of the server, ${about}`).toBeLessThan(10 * second);
  expect(watchedAfterMs, `a new order, ${about}`).toBeLessThan(servedWithinMs);
  expect(Math.max(...gaps), `the longest time without a poll of an order, ${about}`).toBeLessThan(servedWithinMs);
  expect(tokens.length, `tokens, ${about}`).toBeGreaterThanOrEqual(2);
  expect(await latenessSeconds(), about).toBeLessThan(5);
}

/** While the server may hand out no tasks, the lateness of the most overdue order is shown. */
async function showsLateness({ latenessSeconds, answered, orderIds }: Scene): Promise<void> {
  const from = Date.now();
  while (Date.now() < from + phaseMs) {
    await sleep(2 * second);
    const shown = await latenessSeconds();
    const polled = orderIds.map((orderId) => Math.max(from, ...answered('orderDetails', from, orderId)));
    const silentSeconds = (Date.now() - Math.min(...polled)) / second;
    expect(shown, `no poll for ${silentSeconds} s`).toBeGreaterThan(silentSeconds - latenessSlackSeconds);
  }
}

it.runIf(isLong).concurrent.for<[string, number[]]>([
  ['an hour ahead, then mended, and an hour later', [hour, 0, hour]],
  ['an hour behind, then mended', [-hour, 0]],
  ['right, then an hour ahead, then mended, and an hour later', [0, hour, 0, hour]],
  ['right, then an hour behind, then mended', [0, -hour, 0]],
])(
  'tokens serve within 30 s, or lateness is shown, with the clock of the Temporal server %s',
  { timeout: 15 * minute },
  async ([, clocks], test) => {
    let before = clocks[0] ?? 0;
    const scene = await startScene(test, before);
    for (const aheadMs of clocks) {
      await scene.setClock(aheadMs);
      await (aheadMs < before ? showsLateness(scene) : serves(scene, aheadMs));
      before = aheadMs;
    }
  },
);

it.runIf(isLong).concurrent(
  'tokens serve within 30 s after the two minutes that the clock of the Temporal server was ahead until it was mended',
  { timeout: 15 * minute },
  async (test) => {
    const scene = await startScene(test, 2 * minute);
    await serves(scene, 2 * minute);
    await scene.setClock(0);
    const madeUpAt = Date.now() + 2 * minute;
    await showsLateness(scene);
    await sleep(madeUpAt - Date.now());
    await serves(scene, 0);
  },
);
