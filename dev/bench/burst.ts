import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { toAccountName } from '../../src/domain/keys.js';
import { rideStart } from '../../src/temporal/starts.js';
import { sandboxProducts } from '../sandbox/ride/catalogue.js';
import { closedLoop } from './closed-loop.js';
import type { Listing } from './report.js';
import { inFolder } from './rounds.js';
import { pollEvery } from './settings.js';
import { startOrder } from './sides.js';
import { type BenchPlace, openSite, type Site, type TemporalSource, workerOf } from './site.js';
import type { WorkerState } from './worker-process.js';

export interface BurstOptions {
  temporal: TemporalSource;
  starts: number;
  rides: number;
  /** Characters of the body of each ride, in thousands. */
  kilobytes: number;
  /** `--max-old-space-size` of the worker in MiB, for each of its threads. */
  heap: number;
  say: (line: string) => void;
}

/** What comes at once: orders to follow, or rides to request. */
interface Burst {
  name: string;
  count: number;
  start(site: Site, client: Client): Promise<WorkflowHandle>;
}

/** Starts go out over several connections. */
const connections = 4;
const lanes = 128;
const historyLanes = 16;
const limitMs = 1_500_000;
const lookEveryMs = 1_000;
const mebibyte = 1_048_576;
/** Rides stay long enough for all of them to be in the cache. */
const rideLifeMs = 60_000;

/** Measures what a burst of starts does to one worker process with a small heap. */
export async function benchBurst(options: BurstOptions): Promise<Listing> {
  const bursts = [followedOrders(options.starts), requestedRides(options.rides, options.kilobytes)];
  return await inFolder(async (folder) => {
    const figures: Record<string, number>[] = [];
    for (const burst of bursts) figures.push(await measure(burst, { folder, temporal: options.temporal }, options));
    const rows = Object.keys(figures[0] ?? {}).map((name) => ({
      name,
      values: figures.map((one) => one[name] ?? NaN),
    }));
    return { name: `one burst, heap limit ${options.heap} MiB`, columns: bursts.map(({ name }) => name), rows };
  });
}

function followedOrders(count: number): Burst {
  let started = 0;
  return {
    ...{ name: 'followed orders', count },
    start({ sandbox, taskQueue }, client) {
      started += 1;
      const order = { at: started % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
      const script = [{ status: 'Completed', afterMs: 0 }];
      sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
      return startOrder('faretrail', order, { client, taskQueue, cadence: undefined });
    },
  };
}

function requestedRides(count: number, kilobytes: number): Burst {
  const order = rideBody(kilobytes * 1_000);
  return {
    ...{ name: 'requested rides', count },
    start({ taskQueue }, client) {
      const input = { account: toAccountName('business'), requestId: randomUUID(), order };
      return client.workflow.start('requestRide', rideStart(input, taskQueue));
    },
  };
}

/** A body of many small fields, which takes more of the heap than one long text. */
export function rideBody(length: number): Record<string, unknown> {
  const user = { name: 'Pat Example', phone: '15550100200' };
  const location = { lat: 52.5, lng: 13.4, full_address: 'Example Street 1' };
  const stop = (type: string, action: string) => ({ type, actions: [{ type: action, user }], location });
  const notes: object[] = [];
  const stops = [stop('origin', 'pick_up'), stop('destination', 'drop_off')];
  const body = { category: 'transportation', product_id: sandboxProducts.standard.id, stops, notes };
  const lengthOf = (value: unknown): number => JSON.stringify(value).length;
  for (let left = length - lengthOf(body); left > 100; left -= lengthOf(notes.at(-1)) + 1)
    notes.push({ n: notes.length, gate: `gate ${notes.length}`, text: 'ring twice, wait at the side door' });
  return body;
}

async function measure(burst: Burst, place: BenchPlace, { heap, say }: BurstOptions): Promise<Record<string, number>> {
  const script = ['Driving', 'Completed'].map((status, step) => ({ status, afterMs: step * rideLifeMs }));
  const site = await openSite(place, {
    // Far more than two cores can send: an order is read at its first task, and again when it ends.
    ...{ workers: 1, cadence: pollEvery(rideLifeMs), nodeFlags: [`--max-old-space-size=${heap}`] },
    sandbox: { rides: { script, receiptChangesAfterMs: [] } },
  });
  const address = site.env.TEMPORAL_ADDRESS ?? '';
  const connect = async () => new Client({ connection: await Connection.connect({ address }) });
  const clients = await Promise.all(Array.from({ length: connections }, connect));
  try {
    const begunAt = performance.now();
    const seconds = (): number => (performance.now() - begunAt) / 1_000;
    const watch = watchWorker(site, (line) => say(`burst, ${burst.name}: ${line}`));
    const runs = await closedLoop({ count: burst.count, inFlight: lanes, limitMs }, (index) =>
      burst.start(site, clients[index % connections] as Client),
    );
    const acceptedPerSecond = runs.length / seconds();
    say(`burst, ${burst.name}: ${runs.length} starts accepted`);
    const needAPerson = await untilEnded(site, runs.length);
    const endedAfter = seconds();
    const peaks = watch.stop();
    const failures = await closedLoop({ count: runs.length, inFlight: historyLanes, limitMs }, (index) =>
      failedTasksOf(runs[index] as WorkflowHandle),
    );
    return {
      started: runs.length,
      'starts accepted per second': acceptedPerSecond,
      'all ended after, s, but those that wait for a person': endedAfter,
      'wait for a person, since the answer to their create was lost in the rush': needAPerson,
      'workflow tasks failed, timed out, or lost to a sticky queue': failures.reduce((sum, count) => sum + count, 0),
      ...peaks,
    };
  } finally {
    await Promise.all(clients.map(({ connection }) => connection.close()));
    await site.close();
  }
}

/** Looks at the worker once a second, and tells its peaks. A worker that has died ends the bench. */
function watchWorker(site: Site, say: (line: string) => void) {
  const states: WorkerState[] = [];
  let isOver = false;
  const watch = async (): Promise<void> => {
    for (; !isOver; await sleep(lookEveryMs)) {
      const state = await workerOf(site).state();
      states.push(state);
      const { heaps, rssBytes, cachedRuns } = state;
      const used = heaps.map(({ usedBytes }) => Math.round(usedBytes / mebibyte)).join(' + ');
      if (states.length % 10 === 1)
        say(`${cachedRuns} runs cached, heaps ${used} MiB, RSS ${Math.round(rssBytes / mebibyte)} MiB`);
    }
  };
  void watch();
  return {
    stop() {
      isOver = true;
      const heaps = states.flatMap((state) => state.heaps);
      return {
        'most runs cached': Math.max(...states.map(({ cachedRuns }) => cachedRuns)),
        'fullest heap of a thread, share of its limit': Math.max(...heaps.map((one) => one.usedBytes / one.limitBytes)),
        'peak memory of the worker, MiB': Math.max(...states.map((state) => state.peakRssBytes)) / mebibyte,
      };
    },
  };
}

/** Waits until no run of the burst is open but those that wait for a person. Gives their number. */
async function untilEnded({ client: { workflow } }: Site, count: number): Promise<number> {
  const types = 'WorkflowType IN ("followOrder", "requestRide")';
  for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(lookEveryMs)) {
    const all = await workflow.count(types);
    const open = await workflow.count(`ExecutionStatus = "Running" AND ${types}`);
    const waiting = await workflow.count('RideAttention = "outcomeUnknown" AND ExecutionStatus = "Running"');
    if (open.count <= waiting.count && all.count >= count) return waiting.count;
  }
  throw new Error('the runs of the burst have not ended in time');
}

async function failedTasksOf(run: WorkflowHandle): Promise<number> {
  const { events } = await run.fetchHistory();
  const isFailure = (event: NonNullable<typeof events>[number]) =>
    event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes;
  return (events ?? []).filter(isFailure).length;
}
