import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { runTogether } from '../../../src/order-worker.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import { bundleOf, useTemporal } from '../../support/worker/runtime.js';
import { callsQuery, callUpdate, type waiting } from '../../support/worker/small-workflows.js';

const temporal = useTemporal();

const timerMs = 2_000;

it('a run that is asked while no worker lives, and called after something has happened, still replays', async () => {
  const { client, native } = temporal;
  const taskQueue = `asked-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const whileAWorkerLives = async <T>(act: () => Promise<T>): Promise<T> =>
    await (await Worker.create({ connection: native, taskQueue, workflowBundle })).runUntil(act);

  const run = await whileAWorkerLives(async () => {
    const started = await client.workflow.start<typeof waiting>('waiting', {
      ...{ taskQueue, workflowId: taskQueue, args: [timerMs] },
    });
    await started.query(callsQuery);
    return started;
  });
  const asked = [1, 2, 3].map(() => run.query(callsQuery)); // so that one of them is met before the task
  await expect.poll(async () => (await run.fetchHistory()).events?.at(-2)?.timerFiredEventAttributes).toBeTruthy();
  const openHistory = await run.fetchHistory();
  const called = repeatWhenLost(() => run.executeUpdate(callUpdate));
  await sleep(300); // the call has to be there before the worker; a late one makes the test easier, not wrong
  const result = await whileAWorkerLives(async () => {
    expect(await called).toBe(1);
    for (const answer of await Promise.all(asked)) expect(answer).toBeLessThanOrEqual(1);
    return await run.result();
  });

  expect(result).toBe(1);
  await Worker.runReplayHistory({ workflowBundle }, await run.fetchHistory());
  await Worker.runReplayHistory({ workflowBundle }, openHistory); // it ends with what no task had brought yet
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
