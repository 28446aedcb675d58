import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from '@temporalio/worker';
import pMap from 'p-map';
import { expect, inject, it } from 'vitest';
import { median } from '../../bench/statistics.js';
import { projectRoot } from '../../local/temporal/project-root.js';
import { workerEnv } from '../support/accounts.js';
import { isLong } from '../support/long.js';
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

/** A run of `followOrder` that another release has begun. */
async function formerRun(taskQueue: string): Promise<string> {
  const workflowBundle = await bundleOf('worker/former-workflows.ts');
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

const changing: [string, number][] = [
  ['Routing', 0],
  ['Driving', 300],
  ['Completed', 600],
];
const histories = isLong ? 10_000 : 60;

/** In MiB, of a process and all of its threads. */
async function residentOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1_024;
}

it('replays many histories in the memory of a few', { timeout: 3_600_000 }, async () => {
  const orders = Array.from({ length: histories }, (_, index) =>
    stack.newOrder('business', index % 10 === 0 ? changing : [['Completed', 0]]),
  );
  await pMap(orders, async (orderId) => (await stack.follow('business', orderId)).result(), { concurrency: 64 });
  const followed = `TaskQueue = '${stack.config.taskQueue}' AND RideStatus = 'Completed'`;
  await expect
    .poll(async () => (await stack.client.workflow.count(followed)).count, { timeout: 60_000 })
    .toBe(histories);

  const argv = [join(projectRoot, 'dist/src/starter.js'), 'replay', '--query', followed, '--json'];
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, TEMPORAL_ADDRESS: inject('temporalAddress'), NODE_OPTIONS: '--max-old-space-size=128' };
  const begun = performance.now();
  const replay = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  replay.stdout.on('data', (text) => (said += text));
  const resident: number[] = [];
  const isOver = () => undefined; // the process has ended meanwhile
  const sample = () => residentOf(replay.pid ?? 0).then((size) => resident.push(size), isOver);
  const sampling = setInterval(() => void sample(), 1_000);
  const ended = await once(replay, 'exit');
  clearInterval(sampling);
  expect({ ended, ...JSON.parse(said) }).toEqual({ ended: [0, null], replayed: histories, failed: [] });
  if (!isLong) return;
  const quarter = Math.floor(resident.length / 4);
  const [second, last] = [resident.slice(quarter, 2 * quarter), resident.slice(-quarter)].map(median);
  const perSecond = (1_000 * histories) / (performance.now() - begun);
  process.stderr.write(`${perSecond.toFixed(0)} a second; MiB ${resident.map(Math.round).join(' ')}\n`);
  expect(last).toBeLessThan(1.2 * (second ?? 0));
});
