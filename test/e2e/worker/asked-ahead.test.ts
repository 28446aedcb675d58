import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { repeatWhenLost } from '../../../src/temporal/lost-update.js';
import { bundleWorkflows } from '../../../src/temporal/workflow-code.js';
import { callsQuery, callUpdate, type waiting } from '../../support/order/waiting-workflow.js';
import { quietRuntime } from '../../support/worker/runtime.js';

const timerMs = 2_000;
const askedWithinMs = 20_000;

it('a run that is asked while no worker lives, and called after something has happened, still replays', async () => {
  quietRuntime();
  const address = inject('temporalAddress');
  const [connection, own] = await Promise.all([Connection.connect({ address }), NativeConnection.connect({ address })]);
  const client = new Client({ connection });
  const taskQueue = `asked-${randomUUID()}`;
  const workflowsPath = fileURLToPath(new URL('../../support/order/waiting-workflow.ts', import.meta.url));
  const workflowBundle = { code: await bundleWorkflows(workflowsPath, new DefaultLogger('ERROR')) };
  const whileAWorkerLives = async <T>(act: () => Promise<T>): Promise<T> =>
    await (await Worker.create({ connection: own, taskQueue, workflowBundle })).runUntil(act);

  const run = await whileAWorkerLives(async () => {
    const started = await client.workflow.start<typeof waiting>('waiting', {
      ...{ taskQueue, workflowId: taskQueue, args: [timerMs] },
    });
    await started.query(callsQuery);
    return started;
  });
  // Three, so that one of them is met before the task; the worker drops one that waits behind another which it refuses.
  const asked = [1, 2, 3].map(() =>
    client.withDeadline(Date.now() + askedWithinMs, () => repeatWhenLost(() => run.query(callsQuery))),
  );
  const answer = Promise.any(asked);
  await expect.poll(async () => (await run.fetchHistory()).events?.at(-2)?.timerFiredEventAttributes).toBeTruthy();
  const openHistory = await run.fetchHistory();
  const called = run.executeUpdate(callUpdate);
  await sleep(300); // the call has to be there before the worker; a late one makes the test easier, not wrong
  const result = await whileAWorkerLives(async () => {
    expect(await called).toBe(1);
    expect(await answer).toBeLessThanOrEqual(1);
    return await run.result();
  });

  expect(result).toBe(1);
  await Worker.runReplayHistory({ workflowBundle }, await run.fetchHistory());
  await Worker.runReplayHistory({ workflowBundle }, openHistory); // it ends with what no task had brought yet
  await Promise.allSettled(asked); // a call that is under way when its connection closes throws where nobody catches it
  await Promise.all([connection.close(), own.close()]);
});
