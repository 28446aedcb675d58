import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { afterEach, expect, it, vi } from 'vitest';
import { mostCallsWithin, readDistancesMs } from '../../dev/sandbox/ledger-questions.js';
import { isTokenOperation } from '../../dev/sandbox/operations.js';
import type { RideInterface } from '../../src/domain/account.js';
import { toAccountName } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { repeatsCreates, requestedRide } from '../support/ride/rides.js';
import { eventsOf } from '../support/runs.js';
import { useOwnServer } from '../support/server/own-server.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';
import { startWorkerProcess, type WorkerProcess } from '../support/worker/process.js';

/*
 * Workers of an earlier release and of this one over the same runs, in turn and side by side, without Worker
 * Versioning. FARETRAIL_TEST_EARLIER names a compiled checkout of the earlier release: docs/internals/tests.md.
 */
const { TimeoutType, WorkflowTaskFailedCause: Cause } = temporal.api.enums.v1;
const earlier = process.env.FARETRAIL_TEST_EARLIER;

const script: [status: string, afterMs: number][] = [
  ['Pending', 0],
  ['Confirmed', 8_000],
  ['Waiting', 16_000],
  ['Driving', 24_000],
  ['Completed', 40_000],
];
const words = script.map(([status]) => status);
const endsAfterMs = 40_000;
const orders = 20;
/** Of the orders at the business interface, so many have deliveries. */
const announced = 5;
const requestsPerSecond = 12;

const server = useOwnServer();
let fleet: Fleet;
afterEach(() => fleet?.close());

type Release = 'earlier' | 'now';
type Scene = Awaited<ReturnType<typeof openScene>>;

async function openScene() {
  const env = {
    ...repeatsCreates,
    FARETRAIL_POLL_ACTIVE_MS: '1500',
    FARETRAIL_POLL_RESERVED_MS: '1500',
    FARETRAIL_POLL_PUSHED_MS: '3000',
  };
  fleet = await startFleet(0, { address: server.address, env, requestsPerSecond });
  const { sandbox, client, place } = fleet;
  sandbox.setRideSettings({ script: script.map(([status, afterMs]) => ({ status, afterMs })) });
  const releaseOf = new Map<number, Release>();
  const timers: NodeJS.Timeout[] = [];
  const followed: { run: FollowHandle; orderId: string; isAnnounced: boolean; startedAt: number }[] = [];
  const holder = async (account: RideInterface): Promise<Release | undefined> => {
    const watch = await readWatch(client, place.config.taskQueue, toAccountName(account));
    return releaseOf.get(Number.parseInt(watch?.worker ?? '0', 10));
  };
  return {
    followed,
    releaseOf,
    timers,
    async start(release: Release): Promise<WorkerProcess> {
      const worker = await startWorkerProcess(fleet.env, release === 'earlier' ? earlier : undefined);
      releaseOf.set(worker.pid ?? 0, release);
      fleet.workers.push(worker);
      return worker;
    },
    /** Follows new orders at both interfaces, by turns. */
    async follow(count = orders): Promise<void> {
      for (let n = 0; n < count; n += 1) {
        const account = n % 2 === 0 ? 'partner' : 'business';
        const orderId = fleet.newOrder(account, script);
        const startedAt = Date.now();
        const run = await startFollowing(place, { account, orderId });
        const isAnnounced = account === 'business' && n < 2 * announced;
        followed.push({ run, orderId, isAnnounced, startedAt });
        for (const [status, afterMs] of isAnnounced ? script.slice(1) : [])
          timers.push(setTimeout(() => void deliver(run, deliveryOf(status)).catch(() => undefined), afterMs + 300));
      }
    },
    holds: (release: Release) =>
      vi.waitFor(async () => {
        for (const account of ['partner', 'business'] as const) expect(await holder(account)).toBe(release);
      }, patient),
  };
}

/** Tasks of any run that have failed or timed out, with their numbers, and the most attempts of one task. */
async function troubleOfTasks({ releaseOf }: Scene) {
  const { client, place } = fleet;
  const failed: string[] = [];
  const timedOut: string[] = [];
  let mostAttempts = 1;
  for await (const info of client.workflow.list({ query: `TaskQueue = '${place.config.taskQueue}'` })) {
    const events = await eventsOf(client.workflow.getHandle(info.workflowId, info.runId));
    for (const event of events) {
      const failure = event.workflowTaskFailedEventAttributes;
      const timeout = event.workflowTaskTimedOutEventAttributes;
      mostAttempts = Math.max(mostAttempts, event.workflowTaskScheduledEventAttributes?.attempt ?? 1);
      if (timeout) timedOut.push(`${info.type}, ${TimeoutType[timeout.timeoutType ?? 0]}`);
      if (!failure) continue;
      const by = releaseOf.get(Number.parseInt(failure.identity ?? '0', 10));
      failed.push(`${info.type} on ${by}, ${Cause[failure.cause ?? 0]}`);
    }
  }
  return { failed: counted(failed), timedOut: counted(timedOut), mostAttempts };
}

function counted(texts: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}

/** Waits for all ends. What the orders, their runs and the service saw. */
async function ends(scene: Scene, ride: Awaited<ReturnType<typeof requestedRide>>) {
  const { sandbox } = fleet;
  const lags: number[] = [];
  const timelines: string[] = [];
  let endedLateMs = 0;
  for (const { run, isAnnounced, startedAt } of scene.followed) {
    const { outcome, timeline } = await run.result();
    timelines.push(`${outcome}: ${timeline.map(({ status }) => status).join()}`);
    const closedAt = (await run.describe()).closeTime?.getTime() ?? Number.NaN;
    endedLateMs = Math.max(endedLateMs, closedAt - startedAt - endsAfterMs);
    for (const { status, at } of isAnnounced ? [] : timeline)
      lags.push(Date.parse(at) - startedAt - (script.find(([word]) => word === status)?.[1] ?? 0));
  }
  const { outcome, trail } = await ride.handle.result();
  timelines.push(`${outcome}: ${trail?.timeline.map(({ status }) => status).join()}`);
  const ledger = sandbox.ledger();
  const polled = scene.followed.filter(({ isAnnounced }) => !isAnnounced);
  const callsOf = (account: RideInterface, ms: number): number => {
    const calls = ledger.filter(({ operation }) => operation !== 'unknown' && !isTokenOperation(operation));
    const ofIt = calls.filter(({ operation }) => (operation === 'orderStatus') === (account === 'partner'));
    return (mostCallsWithin(ms, ofIt) / ms) * 1_000;
  };
  return {
    timelines: counted(timelines),
    longestPauseMs: Math.max(...polled.flatMap(({ orderId }) => readDistancesMs(ledger, orderId))),
    lagMs: { median: lags.sort((a, b) => a - b)[Math.floor(lags.length / 2)], longest: lags.at(-1) },
    endedLateMs,
    mostCallsPerSecond: {
      inOneSecond: [callsOf('partner', 1_000), callsOf('business', 1_000)],
      inTenSeconds: [callsOf('partner', 10_000), callsOf('business', 10_000)],
    },
    refused: Object.keys(sandbox.counts().byStatus).filter((status) => !/^20[01]$/.test(status)),
    tasks: await troubleOfTasks(scene),
  };
}

interface Play {
  play(scene: Scene): Promise<void>;
  /** Nobody polled for a while, so statuses may be missing. */
  hasGap?: true;
  /** Tasks of runs of this release came to a worker of the earlier one. */
  failsOnEarlier?: true;
}

const scenes: Record<string, Play> = {
  'in turn, by SIGTERM': {
    async play(scene) {
      const first = await scene.start('earlier');
      await scene.follow();
      await sleep(12_000);
      await first.stop();
      await scene.start('now');
    },
  },
  'in turn, by SIGTERM, and back': {
    async play(scene) {
      const first = await scene.start('earlier');
      await scene.follow();
      await sleep(10_000);
      await first.stop();
      const second = await scene.start('now');
      await sleep(10_000);
      await second.stop();
      await scene.start('earlier');
    },
  },
  'in turn, by kill -9': {
    hasGap: true,
    async play(scene) {
      const first = await scene.start('earlier');
      await scene.follow();
      await sleep(12_000);
      await first.kill();
      await scene.start('now');
    },
  },
  'side by side, the earlier one with the watch': {
    async play(scene) {
      await scene.start('earlier');
      await scene.holds('earlier');
      await scene.follow();
      await sleep(4_000);
      await scene.start('now');
    },
  },
  'side by side, this one with the watch': {
    async play(scene) {
      const first = await scene.start('earlier');
      await scene.follow();
      await sleep(4_000);
      await scene.start('now');
      await first.stop();
      await scene.holds('now');
      await scene.start('earlier');
    },
  },
  'side by side, with new orders, the earlier one with the watch': {
    async play(scene) {
      await scene.start('earlier');
      await scene.holds('earlier');
      await scene.start('now');
      await scene.follow(orders / 2);
      await sleep(8_000);
      await scene.follow(orders / 2);
    },
  },
  'side by side, with new orders, this one with the watch': {
    async play(scene) {
      await scene.start('now');
      await scene.holds('now');
      await scene.start('earlier');
      await scene.follow(orders / 2);
      await sleep(8_000);
      await scene.follow(orders / 2);
    },
  },
  'side by side, and this one dies and comes again': {
    hasGap: true,
    failsOnEarlier: true,
    async play(scene) {
      const first = await scene.start('now');
      await scene.holds('now');
      await scene.follow();
      await sleep(6_000);
      await scene.start('earlier');
      await sleep(4_000);
      await first.kill();
      await scene.start('now');
    },
  },
  'back with runs that have its patches, and forth again': {
    hasGap: true,
    failsOnEarlier: true,
    async play(scene) {
      const first = await scene.start('now');
      await scene.follow();
      await sleep(10_000);
      await first.stop();
      const back = await scene.start('earlier');
      await sleep(12_000);
      await back.stop();
      await scene.start('now');
    },
  },
};

it.skipIf(!isLong || !earlier).each(Object.entries(scenes))(
  'workers of two releases %s: each order ends',
  { timeout: 300_000 },
  async (name, { play, hasGap, failsOnEarlier }) => {
    const scene = await openScene();
    const riding = requestedRide(fleet.place);
    await play(scene);
    const found = await ends(scene, await riding);
    console.log(name, JSON.stringify(found, null, 1));
    const all = { [`completed: ${words.join()}`]: orders + 1 };
    if (!hasGap) expect(found.timelines).toEqual(all);
    expect(Object.keys(found.timelines).every((text) => /^completed: Pending,.*Completed$/.test(text))).toBe(true);
    expect(found.refused).toEqual([]);
    // A signal that comes in the last task of a run fails that task, on any worker.
    const failed = Object.keys(found.tasks.failed).filter((text) => !text.includes('UNHANDLED_COMMAND'));
    const known = failed.filter(
      (text) => failsOnEarlier && text.endsWith('on earlier, WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR'),
    );
    expect(failed).toEqual(known);
  },
);
