import { expect, it } from 'vitest';
import {
  type CacheChange,
  createYieldingWorker,
  type RunningWorker,
  wantedRuns,
} from '../../src/temporal/yielding-worker.js';

const minute = 60_000;
const state = { runs: 3_000, cachedRuns: 3_000, most: 3_000, unchangedForMs: Number.POSITIVE_INFINITY };

it.each([
  ['a heap that has room', 0.5, {}, 3_000],
  ['a full heap: half of the runs', 0.81, {}, 1_500],
  ['a full heap and a cache that is not: half of its runs', 0.9, { runs: 400 }, 200],
  ['a full heap and few runs: never too few for the tasks at a time', 0.9, { runs: 60 }, 50],
  ['a full heap and a small cache: it stays', 0.9, { runs: 10, cachedRuns: 50 }, 50],
  ['a heap that is still full a second after a change', 0.9, { unchangedForMs: 1_000 }, 3_000],
  ['room for more', 0.3, { runs: 800, cachedRuns: 800 }, 1_600],
  ['room for more, but no more than at the start', 0.3, { runs: 2_000, cachedRuns: 2_000 }, 3_000],
  ['room for more, soon after a change', 0.3, { runs: 800, cachedRuns: 800, unchangedForMs: minute }, 800],
  ['room, and a cache that is not full', 0.3, { runs: 700, cachedRuns: 800 }, 800],
])('%s', (_what, heapShare, change, runs) => {
  expect(wantedRuns(heapShare, { ...state, ...change })).toBe(runs);
});

/** Stands in for an SDK worker: it ends when `end` is called after its shutdown. */
function pretend(cachedRuns: number) {
  const worker = { cachedRuns, state: 'INITIALIZED', end: () => {}, fail: (_error: Error) => {} };
  const become = (state: string): void => {
    worker.state = state;
  };
  const ended = new Promise<void>((resolve, reject) => {
    worker.end = () => {
      become('STOPPED');
      resolve();
    };
    worker.fail = (error) => {
      become('FAILED');
      reject(error);
    };
  });
  const asSdk: Partial<Record<keyof RunningWorker, unknown>> = {
    getState: () => worker.state,
    getStatus: () => ({ numCachedWorkflows: cachedRuns }),
    shutdown: () => become('DRAINING'),
    run() {
      become('RUNNING');
      return ended;
    },
  };
  return { worker, asSdk: asSdk as unknown as RunningWorker };
}

/** A worker with a cache of 1,000 runs, whose heap is full while `heap.isFull`. */
async function yielding(refusals = 0) {
  const heap = { isFull: true };
  const made: ReturnType<typeof pretend>['worker'][] = [];
  const changes: CacheChange[] = [];
  let left = refusals;
  const one = await createYieldingWorker({
    cachedRuns: 1_000,
    readHeap: () => ({ threadId: 1, usedBytes: heap.isFull ? 90 : 50, limitBytes: 100 }),
    onChange: (change) => changes.push(change),
    async create(cachedRuns) {
      if (made.length > 0 && left-- > 0) throw new Error('Temporal does not answer');
      const { worker, asSdk } = pretend(cachedRuns);
      made.push(worker);
      heap.isFull = made.length === 1;
      return asSdk;
    },
  });
  return { one, made, changes, running: one.run() };
}

const states = (made: { state: string }[]): string[] => made.map(({ state }) => state);
const soon = { timeout: 5_000 };

it('replaces the worker when a heap is full, lets the old one end its work, and ends when both have', async () => {
  const { one, made, changes, running } = await yielding();
  await expect.poll(() => states(made), soon).toEqual(['DRAINING', 'RUNNING']);
  expect(made.map(({ cachedRuns }) => cachedRuns)).toEqual([1_000, 500]);
  expect(changes).toMatchObject([{ cachedRuns: 500, cachedRunsBefore: 1_000, heap: { usedBytes: 90 } }]);
  expect([one.getState(), one.getStatus().numCachedWorkflows]).toEqual(['RUNNING', 500]);

  let hasEnded = false;
  void running.then(() => (hasEnded = true));
  one.shutdown();
  expect(one.getState()).toBe('DRAINING');
  made[1]?.end();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(hasEnded).toBe(false);
  made[0]?.end();
  await running;
});

it('tries again while Temporal does not answer, and counts as running meanwhile', async () => {
  const { one, made, running } = await yielding(1);
  await expect.poll(() => states(made), soon).toEqual(['DRAINING']);
  expect(one.getState()).toBe('RUNNING');
  await expect.poll(() => states(made), soon).toEqual(['DRAINING', 'RUNNING']);
  one.shutdown();
  for (const worker of made) worker.end();
  await running;
});

it('ends when it is told to while there is no new worker', async () => {
  const { one, made, running } = await yielding(1_000);
  await expect.poll(() => states(made), soon).toEqual(['DRAINING']);
  one.shutdown();
  made[0]?.end();
  await running;
  expect(made).toHaveLength(1);
});

it('fails, and stops the new worker, when the old one fails', async () => {
  const { made, running } = await yielding();
  const failed = expect(running).rejects.toThrow('out of memory');
  await expect.poll(() => states(made), soon).toEqual(['DRAINING', 'RUNNING']);
  made[0]?.fail(new Error('out of memory'));
  await expect.poll(() => states(made), soon).toEqual(['FAILED', 'DRAINING']);
  made[1]?.end();
  await failed;
});
