import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, it, onTestFinished } from 'vitest';
import type { Session } from '../../../src/cli/command.js';
import { checkWatches } from '../../../src/cli/doctor.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { accountQueueOf } from '../../../src/domain/task-queues.js';
import { accountWatchId } from '../../../src/domain/workflow-ids.js';
import { runHere } from '../../cli/fake-process.js';
import { startFollowing, useOrderStack } from '../../support/order/stack.js';
import { attributeOf, isWatched } from '../../support/runs.js';

const account = toAccountName('watched');
const stack = useOrderStack({ businessAs: account });

const env = () => ({
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
});

/** What a person does to the activities of this type in the Temporal UI. */
function pausing(workflowId: string, type: string) {
  const { workflowService } = stack.client;
  const about = { namespace: 'default', identity: 'pat@desk', execution: { workflowId }, type };
  const unpause = () => workflowService.unpauseActivity(about);
  onTestFinished(() => void unpause().catch(() => undefined)); // the other tests need the watch
  return { pause: (reason: string) => workflowService.pauseActivity({ ...about, reason }), unpause };
}

/** What `attention` lists of the account. */
async function listed(): Promise<object[]> {
  return JSON.parse((await runHere(['attention', '--account', account, '--json'], env())).stdout).runs;
}

/** What the doctor says of the account. */
async function diagnosed(): Promise<string | undefined> {
  const { client, config } = stack;
  const session = { client, config, inTime: (act: () => Promise<unknown>) => act() } as unknown as Session;
  const check = (await checkWatches(session)).find(({ name }) => name === `watch of ${account}`);
  return check && `${check.result}: ${check.message}`;
}

const newOrder = () => startFollowing(stack, { account, orderId: stack.newOrder('business', [['Driving', 0]]) });
// How many, the worker heartbeats: the SDK sends that at once when the watch begins, and then each 24 s.
const isPolled = () => expect.poll(diagnosed).toMatch(/^ok: orders: \d+, polled by \d+@\S+, the latest \d+ s late$/);

/** A worker of the account that takes its tasks and has none of our activities, such as one of a former release. */
async function startOtherWorker(): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const taskQueue = accountQueueOf(stack.config.taskQueue, account);
  const worker = await Worker.create({ connection, taskQueue, activities: { none: async () => undefined } });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

it('the doctor says who polls the orders of an account; when no worker does, it says so, and attention does, too', async () => {
  const run = await newOrder();
  onTestFinished(() => void run.terminate());
  await expect.poll(() => isWatched(run)).toBe(true);
  await isPolled();
  expect(await listed()).toEqual([]);
  await stack.stopWorker();
  await expect.poll(diagnosed).toMatch(/^failed: no worker polls the live orders of this account \(1\); restart/);
  await stack.client.workflow.getHandle(accountWatchId(account, stack.config.taskQueue)).terminate();
  const stopOther = await startOtherWorker();
  const message = expect.stringContaining('no worker polls the live orders');
  const inNeed = { kind: 'account', id: account, code: 'noWatch', message, command: 'doctor' };
  await expect.poll(listed).toMatchObject([inNeed]);
  await stopOther();
  await stack.startWorker();
  await isPolled();
  expect(await listed()).toEqual([]);
});

it('doctor and attention say who has paused the watch of an account, and how to resume it', async () => {
  const run = await newOrder();
  onTestFinished(() => void run.terminate());
  await expect.poll(() => isWatched(run)).toBe(true);
  const watchId = accountWatchId(account, stack.config.taskQueue);
  const { pause, unpause } = pausing(watchId, 'watchOrders');
  await pause('night');
  const resume = `temporal activity unpause --workflow-id ${watchId} --activity-id \\d+`;
  const paused = new RegExp(
    `^failed: watchOrders was paused by pat@desk at \\S+Z \\(night\\); to resume it: ${resume}$`,
  );
  expect(await diagnosed()).toMatch(paused);
  const message = expect.stringContaining('pat@desk');
  const command = expect.stringMatching(new RegExp(`^${resume}$`));
  const inNeed = { kind: 'watch', id: account, code: 'paused', message, command };
  await expect.poll(listed).toMatchObject([inNeed]);
  await unpause();
  await isPolled();
  await expect.poll(listed).toEqual([]);
});

it('order show says who has paused a read, and how to resume it; attention lists that order once', async () => {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  stack.sandbox.setFault({ kind: 'forbidden', orderId });
  const unread = await startFollowing(stack, { account, orderId });
  onTestFinished(() => void unread.terminate());
  await expect.poll(() => attributeOf(unread, 'RideAttention')).toBe('forbidden');
  const { pause, unpause } = pausing(unread.workflowId, 'readOrder');
  const shown = async () => {
    const { stdout } = await runHere(['order', 'show', account, orderId, '--json'], env());
    return JSON.parse(stdout).paused as object[];
  };
  expect(await shown()).toEqual([]);
  await pause('');
  const one = { activityId: expect.any(String), type: 'readOrder', by: 'pat@desk', reason: '' };
  expect(await shown()).toEqual([{ ...one, since: expect.stringMatching(/Z$/) }]);
  const { stdout } = await runHere(['order', 'show', account, orderId], env());
  const resume = `temporal activity unpause --workflow-id ${unread.workflowId}`;
  expect(stdout).toContain(resume);
  const paused = { kind: 'order', id: orderId, code: 'forbidden', command: expect.stringContaining(resume) };
  await expect.poll(listed).toMatchObject([paused]);
  await unpause();
  expect(await shown()).toEqual([]);
});

it('attention shows the trouble of an account once, on its watch, while its token and an order that it could not read show the same', async () => {
  const run = await newOrder();
  onTestFinished(() => void run.terminate());
  await expect.poll(() => isWatched(run)).toBe(true);
  stack.sandbox.setFault({ kind: 'invalidClient' });
  stack.sandbox.revokeTokens();
  const ofToken = `WorkflowType = 'accessToken' AND RideAccount = '${account}' AND RideAttention = 'credentialsRejected'`;
  await expect.poll(async () => (await stack.client.workflow.count(ofToken)).count).toBe(1);
  const unread = await newOrder();
  onTestFinished(() => void unread.terminate());
  await expect.poll(() => attributeOf(unread, 'RideAttention')).toBe('credentialsRejected');
  const code = 'credentialsRejected';
  const shown = { kind: 'watch', account, id: account, code, message: expect.any(String), command: 'token list' };
  await expect.poll(listed).toMatchObject([{ ...shown, since: expect.stringMatching(/Z$/) }]);
});
