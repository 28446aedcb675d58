import { randomUUID } from 'node:crypto';
import { Worker } from '@temporalio/worker';
import { beforeAll, expect, inject, it } from 'vitest';
import { workerEnv } from '../support/accounts.js';
import { shows, startFollowing, useOrderStack } from '../support/order/stack.js';
import { runStarter, startWorkerProcess } from '../support/worker/process.js';
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
  const others = 2; // the lease of a token, and the watch of the account; that of the other account ends soon
  const all = expect.toSatisfy((replayed: number) => replayed >= orders.length + others);
  await expect.poll(replay).toEqual({ code: 0, replayed: all, failed: [] });
});

let workflowBundle: { code: string };
beforeAll(async () => {
  workflowBundle = await bundleOf('worker/small-workflows.ts');
});

/** A run of `followOrder` that another release has begun. */
async function formerRun(taskQueue: string): Promise<string> {
  const worker = await Worker.create({ connection: temporal.native, taskQueue, workflowBundle });
  const workflowId = `order/business/${randomUUID()}`;
  await worker.runUntil(async () => {
    const run = await temporal.client.workflow.start('followOrder', { taskQueue, workflowId });
    await expect.poll(async () => (await run.fetchHistory()).events?.at(-1)?.timerStartedEventAttributes).toBeTruthy();
  });
  return workflowId;
}

it('names a run whose history another release has made, and what differs', async () => {
  const taskQueue = `former-${randomUUID()}`;
  const workflowId = await formerRun(taskQueue);
  const failed = [{ workflowId, runId: expect.any(String), error: expect.stringContaining('TMPRL1100') }];
  await expect.poll(() => replay(`TaskQueue = '${taskQueue}'`)).toEqual({ code: 1, replayed: 1, failed });
});

it('as the gate of a version that has no work yet, lets it through unless a run does not replay', async ({
  onTestFinished,
}) => {
  const version = { deploymentName: `rides-${randomUUID()}`, buildId: '2.0' };
  const env = workerEnv(stack.sandbox.url, {
    FARETRAIL_LOG_LEVEL: 'info',
    TEMPORAL_DEPLOYMENT_NAME: version.deploymentName,
    TEMPORAL_WORKER_BUILD_ID: version.buildId,
  });
  const worker = await startWorkerProcess(env);
  onTestFinished(async () => void (await worker.stop()));
  const taskQueue = env.FARETRAIL_TASK_QUEUE ?? '';
  /** As Temporal's worker controller does. */
  const askGate = (): Promise<unknown> =>
    temporal.client.workflow.execute('replayGate', {
      taskQueue,
      workflowId: `test-${randomUUID()}`,
      workflowExecutionTimeout: '1 hour',
      versioningOverride: { pinnedTo: version },
    });
  await expect.poll(() => askGate().catch(({ message }) => message)).toEqual({ replayed: expect.any(Number) });
  const workflowId = await formerRun(taskQueue);
  const message = expect.stringMatching(new RegExp(`^1 of \\d+ runs do not replay: ${workflowId}$`));
  await expect
    .poll(() => askGate().catch((error) => error.cause.cause))
    .toMatchObject({ type: 'DoesNotReplay', message });
});

it('tells a filter that Temporal does not understand', async () => {
  expect(await replay('Workflow is mine')).toMatchObject({ code: 1, error: { code: 'FilterRefused' } });
});
