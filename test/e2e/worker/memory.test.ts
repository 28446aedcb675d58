import { json } from 'node:stream/consumers';
import type { Worker as Thread } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';

/** The threads that run workflows, since this file began. */
const threads: Thread[] = [];
const onThread = (thread: Thread): number => threads.push(thread);
beforeAll(() => void process.on('worker', onThread));
afterAll(() => void process.off('worker', onThread));

/** Bytes of the heap of the workflow thread that are in use. A snapshot collects garbage first. */
async function heapOf(thread: Thread | undefined): Promise<number> {
  if (!thread) throw new Error('no workflow thread was started');
  const { snapshot, nodes } = (await json(await thread.getHeapSnapshot())) as {
    snapshot: { meta: { node_fields: string[] } };
    nodes: number[];
  };
  const { node_fields: fields } = snapshot.meta;
  const at = fields.indexOf('self_size');
  let bytes = 0;
  for (let index = at; index < nodes.length; index += fields.length) bytes += nodes[index] ?? 0;
  return bytes;
}

const few = 5;
const many = 40;
/** The polls of so many orders would keep both cores busy. */
const slowPolls = { FARETRAIL_POLL_ACTIVE_MS: '600000', FARETRAIL_POLL_RESERVED_MS: '600000' };
/** In kB; more means that something is kept for each run that was not. `cachedRuns` reckons with it. */
const mostPerRun = 120;

it(`a followed order takes at most ${mostPerRun} kB of the heap of its workflow thread`, {
  timeout: 500_000,
}, async () => {
  const stack = await startOrderStack({ env: slowPolls });
  const [thread] = threads.slice(-1);
  try {
    await followSome(stack, few, few); // what the first runs make for all
    const before = await heapOf(thread);
    await followSome(stack, many, few + many);
    const perRun = ((await heapOf(thread)) - before) / many / 1_000;
    expect(perRun).toBeLessThan(mostPerRun);
    expect(perRun).toBeGreaterThan(mostPerRun / 2); // else the bound no longer guards anything
  } finally {
    await stack.close();
  }
});

/** Each has been read and stays as it is. Asks the server, since queries would load the thread. */
async function followSome(stack: OrderStack, count: number, all: number): Promise<void> {
  const follow = () => stack.follow('partner', stack.newOrder('partner', [['Reserved', 0]]));
  await Promise.all(Array.from({ length: count }, follow));
  const shown = `RideStatus = "Reserved" AND TaskQueue = "${stack.config.taskQueue}"`;
  await expect
    .poll(async () => (await stack.client.workflow.count(shown)).count, { interval: 500, timeout: 240_000 })
    .toBe(all);
}
