import { setTimeout as pause } from 'node:timers/promises';
import type { Worker as Thread } from 'node:worker_threads';
import type { Worker } from '@temporalio/worker';
import { heapLimitBytes, type ThreadHeap, threadHeaps } from './thread-heaps.js';

// The workflow cache of an SDK worker holds up to a fixed number of runs, whatever they weigh, and nothing but a new run takes one out of
// a full cache. A run with a large body weighs twenty times as much as others. So before a heap is full, this process replaces the worker
// of the workflows by one with a smaller cache: the old one takes no more tasks, ends what is under way, and its heap goes with its thread.

/** What `OrderWorker` needs of an SDK worker. */
export type RunningWorker = Pick<Worker, 'run' | 'shutdown' | 'getState' | 'getStatus' | 'options'>;

/** A change of the size of the workflow cache, and the fullest heap before it. */
export interface CacheChange {
  /** How many runs the cache may hold from now on. */
  cachedRuns: number;
  cachedRunsBefore: number;
  heap: ThreadHeap;
}

interface YieldingWorkerParts {
  /** Creates an SDK worker that may cache so many runs. */
  create(maxCachedWorkflows: number): Promise<RunningWorker>;
  /** The size of the cache while the heaps have room. */
  cachedRuns: number;
  onChange(change: CacheChange): void;
  /** The fullest heap of the main thread and of these threads. Null if none can be full, unless the answer is wanted in any case. */
  readHeap?: (threadIds: readonly number[], inAnyCase: boolean) => ThreadHeap | null;
}

/** Above this share of its limit a heap is full: Node then collects garbage ever more often, and in the end gives up. */
const fullAt = 0.8;
/** Below this share twice as many runs have room. */
const roomAt = 0.35;
/** Above the number of workflow tasks at a time, which the SDK demands. */
const fewestRuns = 50;
const lookEveryMs = 500;
/** A smaller cache is tried for so long before the next change. */
const restMs = 3_000;
const growAfterMs = 600_000;
const retryEveryMs = 1_000;
/** Temporal may be away just then. After that the process ends, and its supervisor starts another. */
const createWithinMs = 300_000;

interface CacheState {
  runs: number;
  cachedRuns: number;
  /** The size of the cache while the heaps have room. */
  most: number;
  unchangedForMs: number;
}

/**
 * How many runs the cache should hold: half of its runs when a heap is full, and twice as many after ten minutes when there is room.
 * `heapShare`: how much of its limit the fullest heap uses, 0 to 1.
 */
export function wantedRuns(heapShare: number, state: CacheState): number {
  const { runs, cachedRuns, most, unchangedForMs } = state;
  if (heapShare > fullAt && unchangedForMs >= restMs) {
    return Math.min(cachedRuns, Math.max(fewestRuns, Math.floor(runs / 2)));
  }
  return heapShare < roomAt && mayGrow(state) ? Math.min(most, 2 * cachedRuns) : cachedRuns;
}

const mayGrow = ({ runs, cachedRuns, most, unchangedForMs }: CacheState): boolean =>
  cachedRuns < most && runs >= cachedRuns && unchangedForMs >= growAfterMs;

/** An SDK worker whose workflow cache gives way while the heap of a thread is full. Rejects as `create` does. */
export async function createYieldingWorker(parts: YieldingWorkerParts): Promise<RunningWorker> {
  const { create, onChange, readHeap = fullestHeap, cachedRuns: most } = parts;
  const failures: unknown[] = [];
  let cachedRuns = most;
  let changedAt = Number.NEGATIVE_INFINITY;
  let isStopping = false;
  let isChanging = false;
  let current = await withThreads(() => create(cachedRuns));
  return {
    get options() {
      return current.made.options;
    },
    getState: () => (isChanging ? 'RUNNING' : current.made.getState()),
    getStatus: () => current.made.getStatus(),
    shutdown,
    async run() {
      const ended: Promise<void>[] = [];
      for (let goesOn = true; goesOn; ) {
        const hasEnded = new AbortController();
        ended.push(
          current.made
            .run()
            .catch(fail)
            .finally(() => hasEnded.abort()),
        );
        if (isStopping) stopCurrent(); // told so while there was no worker
        const change = await nextChange(hasEnded.signal);
        goesOn = change !== null && (await carryOut(change));
      }
      await Promise.all(ended);
      if (failures.length > 0) throw failures[0];
    },
  };

  function shutdown(): void {
    isStopping = true;
    stopCurrent();
  }

  function stopCurrent(): void {
    if (current.made.getState() === 'RUNNING') current.made.shutdown();
  }

  function fail(error: unknown): void {
    failures.push(error);
    shutdown();
  }

  /** Null when the worker has ended. */
  async function nextChange(ended: AbortSignal): Promise<CacheChange | null> {
    while (!ended.aborted) {
      await pause(lookEveryMs, undefined, { signal: ended }).catch(() => undefined);
      if (current.made.getState() !== 'RUNNING') continue;
      const runs = current.made.getStatus().numCachedWorkflows;
      const state = { runs, cachedRuns, most, unchangedForMs: Date.now() - changedAt };
      const heap = readHeap(current.threadIds, mayGrow(state));
      if (heap === null) continue;
      const wanted = wantedRuns(shareOf(heap), state);
      if (wanted !== cachedRuns) return { cachedRuns: wanted, cachedRunsBefore: cachedRuns, heap };
    }
    return null;
  }

  /** The old worker stops before there is a new one, since the SDK admits one at a time for a task queue. */
  async function carryOut(change: CacheChange): Promise<boolean> {
    onChange(change);
    isChanging = true;
    stopCurrent();
    const made = await createPatiently(() => create(change.cachedRuns), { isWanted: () => !isStopping, fail });
    isChanging = false;
    if (!made) return false;
    current = made;
    cachedRuns = change.cachedRuns;
    changedAt = Date.now();
    return true;
  }
}

interface PatientCreation {
  isWanted(): boolean;
  /** The worker could not be created in time. */
  fail(error: unknown): void;
}

/** Undefined when no worker is wanted any more. */
async function createPatiently<Made>(create: () => Promise<Made>, { isWanted, fail }: PatientCreation) {
  const deadline = Date.now() + createWithinMs;
  while (isWanted()) {
    try {
      return await withThreads(create);
    } catch (error) {
      if (Date.now() > deadline) return fail(error);
      await pause(retryEveryMs);
    }
  }
}

/** Runs `make`, and gives the threads that have started meanwhile, too. */
async function withThreads<Made>(make: () => Promise<Made>): Promise<{ made: Made; threadIds: number[] }> {
  const threadIds: number[] = [];
  const note = ({ threadId }: Thread): void => void threadIds.push(threadId);
  process.on('worker', note);
  try {
    return { made: await make(), threadIds };
  } finally {
    process.off('worker', note);
  }
}

const shareOf = ({ usedBytes, limitBytes }: ThreadHeap): number => usedBytes / limitBytes;

/** Looks only where the memory of the whole process exceeds the share of one heap, since a look takes time. */
function fullestHeap(threadIds: readonly number[], inAnyCase: boolean): ThreadHeap | null {
  const mayBeFull = process.memoryUsage.rss() > fullAt * heapLimitBytes();
  if (!mayBeFull && !inAnyCase) return null;
  const heaps = threadHeaps().filter(({ threadId }) => threadId === 0 || threadIds.includes(threadId));
  return heaps.reduce((fullest, heap) => (shareOf(heap) > shareOf(fullest) ? heap : fullest));
}
