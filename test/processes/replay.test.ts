import { randomUUID } from 'node:crypto';
import { Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { shows, startFollowing, useOrderStack } from '../support/order/stack.js';
import { runStarter } from '../support/worker/process.js';
import { bundleOf, useTemporal } from '../support/worker/runtime.js';

const stack = useOrderStack();
const temporal = useTemporal();

async function replay(query?: string) {
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: stack.config.taskQueue };
  const filter = query === undefined ? [] : ['--query', query];
  const { code, output, errors } = await runStarter(['replay', ...filter, '--json'], env);
  return { code, ...JSON.parse(output || errors) };
}

it('replays each live run on the workflows of this release, and needs no worker for it', async () => {
  const orders = await Promise.all(
    ['Pending', 'Driving'].map(async (word) => {
      const orderId = stack.newOrder('business', [[word, 0]]);
      const run = await startFollowing(stack, { account: 'business', orderId });
      await shows(run, { status: word });
      return run;
    }),
  );
  await expect.poll(replay).toEqual({ code: 0, replayed: orders.length + 1, failed: [] }); // and the lease of a token
});

it('names a run whose history another release has made, and what differs', async () => {
  const taskQueue = `former-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/former-workflows.ts');
  const worker = await Worker.create({ connection: temporal.native, taskQueue, workflowBundle });
  const workflowId = `order/business/${taskQueue}`;
  await worker.runUntil(async () => {
    const args = [{ account: 'business', orderId: taskQueue }];
    const run = await temporal.client.workflow.start('followOrder', { taskQueue, workflowId, args });
    await expect.poll(async () => (await run.fetchHistory()).events?.at(-1)?.timerStartedEventAttributes).toBeTruthy();
  });
  const former = `TaskQueue = '${taskQueue}'`;
  const failed = [{ workflowId, runId: expect.any(String), error: expect.stringContaining('TMPRL1100') }];
  await expect.poll(() => replay(former)).toEqual({ code: 1, replayed: 1, failed });
});

it('tells a filter that Temporal does not understand', async () => {
  expect(await replay('Workflow is mine')).toMatchObject({ code: 1, error: { code: 'FilterRefused' } });
});
