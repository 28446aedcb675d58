import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import Table from 'cli-table3';
import { toAccountName } from '../../src/domain/keys.js';
import { rideStart } from '../../src/temporal/starts.js';
import { sandboxProducts } from '../sandbox/ride/catalogue.js';
import { findDevServer } from '../stack/temporal/dev-server.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { startOrder } from './sides.js';
import type { WorkerState } from './worker-process.js';

/** What comes at once: orders to follow, or rides to request. */
export const burstParts = ['starts', 'rides'] as const;
export type BurstPart = (typeof burstParts)[number];

export interface BurstOptions {
  starts: number;
  rides: number;
  /** Characters of the body of each ride, in thousands. */
  kilobytes: number;
  /** `--max-old-space-size` of the worker, for each of its threads. */
  heapMebibytes: number;
  only: readonly BurstPart[];
  say: (line: string) => void;
}

/** One burst into one worker process. Times in seconds from the first start. */
export interface BurstFigures {
  part: BurstPart;
  started: number;
  acceptedPerSecond: number;
  /** When the first workflow task of the last run had completed. NaN if the worker died before. */
  takenUpAfter: number;
  /** When the last run had ended, apart from those that wait for a person. NaN if some had not. */
  endedAfter: number;
  diedAfter: number | null;
  unended: number;
  /** Of these: rides that wait for a person, because the answer to their create was lost in the rush. */
  needAPerson: number;
  /** The highest share of its limit that the heap of a thread reached, when it was looked at once a second. */
  heapShare: number;
  peakHeapBytes: number;
  peakRssBytes: number;
  mostCachedRuns: number;
  tasks: TaskTroubles;
}

/** Events in the histories of all runs of the burst. A sticky task that waits ten seconds goes to the queue of all workers. */
interface TaskTroubles {
  failed: number;
  timedOut: number;
  leftSticky: number;
}

interface Burst {
  count: number;
  start(cell: Cell, client: Client, index: number): Promise<string>;
}

const account = toAccountName('business');
const connections = 4;
const lanes = 128;
const historyLanes = 16;
const limitMs = 1_500_000;
const lookEveryMs = 1_000;
const mebibyte = 1_048_576;
/** Rides stay long enough for all of them to be in the cache. */
const rideLifeMs = 60_000;
/** Far more than two cores can send: an order is read at its first task, and again when it ends. */
const cadence = { activeMs: rideLifeMs, reservedMs: rideLifeMs, pushedMs: rideLifeMs };

/** Measures what a burst of starts does to one worker process with a small heap. */
export async function benchBurst(options: BurstOptions): Promise<BurstFigures[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const place: BenchPlace = { folder, temporal: { program: await findDevServer(options.say) }, trackerCodePath: '' };
    const results: BurstFigures[] = [];
    for (const part of burstParts.filter((name) => options.only.includes(name))) {
      results.push(await burstOf(part, place, options));
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const bursts: Record<BurstPart, (options: BurstOptions) => Burst> = {
  starts: ({ starts }) => ({
    count: starts,
    async start(cell, client, index) {
      const order = { at: index % 2 === 0 ? ('partner' as const) : ('business' as const), orderId: randomUUID() };
      const script = [{ status: 'Completed', afterMs: 0 }];
      cell.sandbox.addOrder({ interface: order.at, orderId: order.orderId, script });
      return (await startOrder('faretrail', order, { client, cadence, taskQueue: cell.taskQueue })).workflowId;
    },
  }),
  rides: ({ rides, kilobytes }) => {
    const order = rideBody(kilobytes * 1_000);
    return {
      count: rides,
      async start({ taskQueue }, client) {
        const input = { account, requestId: randomUUID(), order };
        return (await client.workflow.start('requestRide', rideStart(input, taskQueue))).workflowId;
      },
    };
  },
};

/** A body of many small fields, which takes more of the heap than one long text. */
function rideBody(length: number): Record<string, unknown> {
  const user = { name: 'Pat Example', phone: '15550100200' };
  const location = { lat: 52.5, lng: 13.4, full_address: 'Example Street 1' };
  const stop = (type: string, action: string) => ({ type, actions: [{ type: action, user }], location });
  const notes: object[] = [];
  const body = {
    ...{ category: 'transportation', product_id: sandboxProducts.standard.id },
    stops: [stop('origin', 'pick_up'), stop('destination', 'drop_off')],
    notes,
  };
  const note = (n: number) => ({ n, gate: `gate ${n}`, text: 'ring twice, wait at the side door' });
  const of = (value: unknown): number => JSON.stringify(value).length;
  for (let left = length - of(body); left > 100; left -= of(notes.at(-1)) + 1) notes.push(note(notes.length));
  return body;
}

async function burstOf(part: BurstPart, place: BenchPlace, options: BurstOptions): Promise<BurstFigures> {
  const { heapMebibytes, say } = options;
  const burst = bursts[part](options);
  const cell = await openCell(place, {
    ...{ side: 'faretrail', processes: 1, cadence },
    sandbox: { bookings: { script: rideScript, receiptChangesAfterMs: null } },
    nodeFlags: [`--max-old-space-size=${heapMebibytes}`],
  });
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(cell)));
  try {
    const begunAt = Date.now();
    const seconds = (ms = Date.now()): number => (ms - begunAt) / 1_000;
    const watch = watchWorker(cell, (line) => say(`${part}: ${line}`));
    const ids = await closedLoop({ count: burst.count, inFlight: lanes, limitMs }, (index) =>
      burst.start(cell, clients[index % connections] as Client, index),
    );
    const acceptedPerSecond = ids.length / seconds();
    say(`${part}: ${ids.length} starts accepted, ${acceptedPerSecond.toFixed(0)} a second`);
    await untilEnded(cell, ids.length, watch.diedAt);
    const endedAfter = seconds();
    const seen = watch.stop();
    const { count: needAPerson } = await cell.client.workflow.count(needsAPerson);
    say(`${part}: reading ${ids.length} histories`);
    const histories = await closedLoop({ count: ids.length, inFlight: historyLanes, limitMs }, (index) =>
      historyOf(clients[index % connections] as Client, ids[index] ?? ''),
    );
    const sum = (key: keyof TaskTroubles): number => histories.reduce((all, { tasks }) => all + tasks[key], 0);
    const unended = histories.filter(({ isOpen }) => isOpen).length;
    return {
      ...{ part, started: ids.length, acceptedPerSecond, unended, needAPerson, ...seen },
      takenUpAfter: seconds(Math.max(...histories.map(({ takenUpAt }) => takenUpAt))),
      endedAfter: unended > needAPerson ? Number.NaN : endedAfter,
      diedAfter: seen.diedAt === null ? null : seconds(seen.diedAt),
      tasks: { failed: sum('failed'), timedOut: sum('timedOut'), leftSticky: sum('leftSticky') },
    };
  } finally {
    await Promise.all(clients.map(({ connection }) => connection.close()));
    await cell.close();
  }
}

const rideScript = [
  { status: 'Driving', afterMs: 0 },
  { status: 'Completed', afterMs: rideLifeMs },
];

const connect = async ({ server: { address } }: Cell): Promise<Client> =>
  new Client({ connection: await Connection.connect({ address }) });

/** Looks at the worker once a second, until it dies or `stop` is called. */
function watchWorker({ workers: [worker] }: Cell, say: (line: string) => void) {
  const peak = { heapShare: 0, peakHeapBytes: 0, peakRssBytes: 0, mostCachedRuns: 0 };
  const watched = { diedAt: null as number | null, isOver: false };
  let looks = 0;
  void look();
  return {
    diedAt: () => watched.diedAt,
    stop() {
      watched.isOver = true;
      return { ...peak, diedAt: watched.diedAt };
    },
  };

  async function look(): Promise<void> {
    while (!watched.isOver) {
      const state = await worker?.state().catch(() => null);
      if (watched.isOver) return;
      if (!state) {
        watched.diedAt = Date.now();
        return say('the worker has died');
      }
      note(state);
      if (looks++ % 10 === 0) say(toLine(state));
      await sleep(lookEveryMs);
    }
  }

  function note({ heaps, peakRssBytes, cachedRuns }: WorkerState): void {
    peak.heapShare = Math.max(peak.heapShare, ...heaps.map(({ usedBytes, limitBytes }) => usedBytes / limitBytes));
    peak.peakHeapBytes = Math.max(peak.peakHeapBytes, ...heaps.map(({ usedBytes }) => usedBytes));
    peak.peakRssBytes = Math.max(peak.peakRssBytes, peakRssBytes);
    peak.mostCachedRuns = Math.max(peak.mostCachedRuns, cachedRuns);
  }
}

const toMebibytes = (bytes: number): string => (bytes / mebibyte).toFixed(0);

const toLine = ({ heaps, rssBytes, cachedRuns }: WorkerState): string =>
  `${cachedRuns} runs cached, heaps ${heaps.map(({ usedBytes }) => toMebibytes(usedBytes)).join(' + ')} MiB, RSS ${toMebibytes(rssBytes)} MiB`;

const needsAPerson = 'RideAttention = "outcomeUnknown" AND ExecutionStatus = "Running"';

/** Waits until no run of the burst is open but those that wait for a person, the worker dies, or the limit has passed. */
async function untilEnded({ client }: Cell, count: number, diedAt: () => number | null): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (diedAt() === null && Date.now() < deadline) {
    const types = 'WorkflowType IN ("followOrder", "requestRide")';
    const all = await client.workflow.count(types);
    const open = await client.workflow.count(`ExecutionStatus = "Running" AND ${types}`);
    const waiting = await client.workflow.count(needsAPerson);
    if (open.count <= waiting.count && all.count >= count) return;
    await sleep(lookEveryMs);
  }
}

interface RunHistory {
  takenUpAt: number;
  isOpen: boolean;
  tasks: TaskTroubles;
}

/** What the history of a run says about its workflow tasks. `takenUpAt`: NaN if none has completed. */
async function historyOf(client: Client, workflowId: string): Promise<RunHistory> {
  const { events = [] } = await client.workflow.getHandle(workflowId).fetchHistory();
  const tasks: TaskTroubles = { failed: 0, timedOut: 0, leftSticky: 0 };
  for (const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: timedOut } of events ??
    []) {
    if (failed) tasks.failed += 1;
    if (timedOut) tasks[timedOut.timeoutType === scheduleToStart ? 'leftSticky' : 'timedOut'] += 1;
  }
  const first = events?.find(({ workflowTaskCompletedEventAttributes: completed }) => completed);
  const isOpen = !events?.at(-1)?.workflowExecutionCompletedEventAttributes;
  return { takenUpAt: first ? Number(first.eventTime?.seconds) * 1_000 : Number.NaN, isOpen, tasks };
}

const scheduleToStart = 2; // temporal.api.enums.v1.TimeoutType

/** A table with one column for each burst. */
export function toBurstTable(results: readonly BurstFigures[]): string {
  const rows: [string, (figures: BurstFigures) => string][] = [
    ['started', ({ started }) => String(started)],
    ['starts accepted per second', ({ acceptedPerSecond }) => acceptedPerSecond.toFixed(0)],
    ['all taken up after, s', ({ takenUpAfter }) => known(takenUpAfter)],
    ['all ended after, s', ({ endedAfter }) => known(endedAfter)],
    ['runs that did not end well', ({ unended }) => String(unended)],
    ['of these waiting for a person', ({ needAPerson }) => String(needAPerson)],
    ['the worker died', ({ diedAfter }) => (diedAfter === null ? 'no' : `after ${diedAfter.toFixed(0)} s`)],
    ['workflow tasks failed', ({ tasks }) => String(tasks.failed)],
    ['workflow tasks timed out', ({ tasks }) => String(tasks.timedOut)],
    ['tasks that left the sticky queue', ({ tasks }) => String(tasks.leftSticky)],
    ['most runs cached', ({ mostCachedRuns }) => String(mostCachedRuns)],
    ['peak heap of a thread, MiB', ({ peakHeapBytes }) => toMebibytes(peakHeapBytes)],
    ['of its limit', ({ heapShare }) => `${(heapShare * 100).toFixed(0)} %`],
    ['peak memory of the worker, MiB', ({ peakRssBytes }) => toMebibytes(peakRssBytes)],
  ];
  const table = new Table({ head: ['burst', ...results.map(({ part }) => part)], style: { head: [], border: [] } });
  for (const [name, of] of rows) table.push([name, ...results.map(of)]);
  return table.toString();
}

const known = (seconds: number): string => (Number.isFinite(seconds) ? seconds.toFixed(0) : 'none');
