import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { runTogether } from '../../../src/order-worker.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import { bundleOf, useTemporal } from '../../support/worker/runtime.js';
import { callsQuery, callUpdate } from '../../support/worker/small-workflows.js';

const temporal = useTemporal();

const timerMs = 2_000;
const askedWithinMs = 30_000;

/**
 * Starts a run, has it asked while no worker lives, and lets its timer fire. Three queries, so that one of them is met before the task; a
 * worker drops one that waits behind another which it refuses.
 */
async function askedAheadOf(type: string) {
  const { client, native } = temporal;
  const taskQueue = `asked-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const whileAWorkerLives = async <T>(act: () => Promise<T>): Promise<T> =>
    await (await Worker.create({ connection: native, taskQueue, workflowBundle })).runUntil(act);
  const run = await whileAWorkerLives(async () => {
    const started = await client.workflow.start(type, { taskQueue, workflowId: taskQueue, args: [timerMs] });
    await started.query(callsQuery);
    return started;
  });
  const asking = new Client({ connection: await Connection.connect({ address: inject('temporalAddress') }) });
  const asked = [1, 2, 3].map(() =>
    asking.withDeadline(Date.now() + askedWithinMs, () =>
      repeatWhenLost(() => asking.workflow.getHandle(taskQueue).query(callsQuery)),
    ),
  );
  // Calls that were dropped end at their deadline; nobody waits for them, and their connection closes only after them.
  void Promise.allSettled(asked).then(() => asking.connection.close());
  await expect.poll(async () => (await run.fetchHistory()).events?.at(-2)?.timerFiredEventAttributes).toBeTruthy();
  const replay = async (history: Awaited<ReturnType<typeof run.fetchHistory>>) =>
    await Worker.runReplayHistory({ workflowBundle }, history);
  return { run, whileAWorkerLives, answer: Promise.any(asked), replay };
}

it('a run that is asked while no worker lives, and called after something has happened, still replays', async () => {
  const { run, whileAWorkerLives, answer, replay } = await askedAheadOf('waiting');
  const openHistory = await run.fetchHistory();
  const called = repeatWhenLost(() => run.executeUpdate(callUpdate));
  await sleep(300); // the call has to be there before the worker; a late one makes the test easier, not wrong
  const result = await whileAWorkerLives(async () => {
    expect(await called).toBe(1);
    expect(await answer).toBeLessThanOrEqual(1);
    return await run.result();
  });
  expect(result).toBe(1);
  await replay(await run.fetchHistory());
  await replay(openHistory); // it ends with what no task had brought yet
});

it('and where nothing more happens to it before its task', async () => {
  const { run, whileAWorkerLives, answer, replay } = await askedAheadOf('punctual');
  await sleep(1.5 * timerMs);
  const result = await whileAWorkerLives(async () => {
    await answer;
    return await run.result();
  });
  expect(result).toBe('late');
  await replay(await run.fetchHistory());
});

it('a worker lets the calls of its other queues end when the SDK worker of one queue fails, and fails after that', async () => {
  const { client, native } = temporal;
  let begun = (): void => undefined;
  const isCalling = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const seen: unknown[] = [];
  const queues = { calling: `calling-${randomUUID()}`, failing: `failing-${randomUUID()}` };
  const activities = {
    async call(): Promise<string> {
      begun();
      await expect.poll(() => failing.getState()).toBe('FAILED');
      seen.push(together.isLive(), together.whyNotPolling());
      return 'answered';
    },
    // Not well-formed: the SDK's core takes no such text, and its worker fails.
    failOnce: () => Promise.reject(new Error('\ud800')),
  };
  const create = (taskQueue: string) =>
    Worker.create({ connection: native, taskQueue, activities, shutdownGraceTime: 60_000 });
  const [calling, failing] = await Promise.all([create(queues.calling), create(queues.failing)]);
  const together = runTogether([calling, failing], async () => void seen.push('stopped'));
  const running = together.run();
  const failed = running.then(
    () => false,
    () => true,
  );

  const options = { startToCloseTimeout: 60_000, id: randomUUID() };
  const call = client.activity.execute('call', { ...options, taskQueue: queues.calling });
  await isCalling;
  await client.activity.start('failOnce', { ...options, id: randomUUID(), taskQueue: queues.failing });
  expect(await call).toBe('answered');
  expect(await failed).toBe(true);
  expect(seen).toEqual([true, expect.stringContaining('has failed'), 'stopped']);
  expect([calling.getState(), failing.getState()]).toEqual(['STOPPED', 'FAILED']);
});
