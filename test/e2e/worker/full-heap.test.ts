import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { closedLoop } from '../../../bench/closed-loop.js';
import { threadHeaps } from '../../../src/temporal/thread-heaps.js';
import { type CacheChange, createYieldingWorker } from '../../../src/temporal/yielding-worker.js';
import { bundleOf, useTemporal } from '../../support/worker/runtime.js';
import { type holding, letGoSignal } from '../../support/worker/small-workflows.js';

const temporal = useTemporal();

/** For the threads of this test alone: the main thread has its limit already. */
const heapMebibytes = 128;
/** Each takes 1 MiB. */
const runs = 180;
const objects = 30_000;

it('a worker whose cached runs are too heavy for its heap goes on with fewer of them, and every run ends', async () => {
  setFlagsFromString(`--max-old-space-size=${heapMebibytes}`);
  const { client, native } = temporal;
  const taskQueue = `heavy-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const changes: CacheChange[] = [];
  const worker = await createYieldingWorker({
    cachedRuns: 1_000,
    onChange: (change) => changes.push(change),
    readHeap: (threadIds) => threadHeaps().find(({ threadId }) => threadIds.includes(threadId)) ?? null,
    create: (maxCachedWorkflows) =>
      Worker.create({
        ...{ connection: native, taskQueue, workflowBundle, maxCachedWorkflows },
        maxConcurrentWorkflowTaskExecutions: 10,
      }),
  });
  const running = worker.run();

  const handles = await closedLoop({ count: runs, inFlight: 8, limitMs: 60_000 }, (index) =>
    client.workflow.start<typeof holding>('holding', {
      taskQueue,
      workflowId: `${taskQueue}/${index}`,
      args: [objects],
    }),
  );
  await expect.poll(() => changes, { timeout: 60_000 }).not.toEqual([]);
  await closedLoop({ count: runs, inFlight: 8, limitMs: 60_000 }, async (index) => {
    await handles[index]?.signal(letGoSignal);
  });
  const ends = await Promise.all(handles.map((handle) => handle.result()));
  expect(new Set(ends)).toEqual(new Set([objects]));
  expect(worker.getStatus().numCachedWorkflows).toBeLessThan(runs);
  for (const handle of handles) {
    const { events } = await handle.fetchHistory();
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
  }
  worker.shutdown();
  await running;
}, 300_000);
