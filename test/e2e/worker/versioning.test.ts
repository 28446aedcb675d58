import { randomUUID } from 'node:crypto';
import protocol from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { createFaretrailClient } from '../../../src/client/index.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { toWorkerDataConverter } from '../../../src/sealing/data-converter.js';
import { renewTokenSignal } from '../../../src/workflows/messages.js';
import { reported } from '../../support/delivery/deliveries.js';
import { startNotices } from '../../support/notify/notices.js';
import { type FollowHandle, shows, useOrderStack } from '../../support/order/stack.js';
import { goesOn, rideUnderWay, stands } from '../../support/ride/rides.js';
import { bundleOf } from '../../support/worker/runtime.js';
import { newDeployment, versionOf } from '../../support/worker/versions.js';

const deployment = newDeployment();

/** Workers that are not versioned, with the sandbox that all use. */
const plain = useOrderStack({ env: deployment.unversioned });
const onSandbox = (buildId: string) => ({ env: deployment.version(buildId, plain.sandbox.url) });
useOrderStack(() => onSandbox('1.0'));
const nextWorkflows = () => bundleOf('worker/next-version-workflows.ts');
useOrderStack(async () => ({ ...onSandbox('2.0'), workflowBundle: await nextWorkflows() }));
useOrderStack(() => onSandbox('3.0'));

const makeCurrent = (buildId: string) => deployment.makeCurrent(plain.client, buildId);

interface Followed {
  handle: FollowHandle;
  /** A poll finds a change. */
  goOn(): Promise<void>;
  end(): Promise<string | null>;
}

async function follow(): Promise<Followed> {
  const orderId = plain.newOrder('partner', [['Driving', 0]]);
  const handle = await plain.follow('partner', orderId);
  await shows(handle, { status: 'Driving' });
  return {
    handle,
    async goOn() {
      plain.sandbox.setStatus('partner', orderId, 'Waiting');
      await shows(handle, { status: 'Waiting' });
    },
    async end() {
      plain.sandbox.setStatus('partner', orderId, 'Completed');
      return (await handle.result()).outcome;
    },
  };
}

/** A read belongs to no workflow, so no version has begun it. */
const readStatus = async (): Promise<number> => {
  const rides = createFaretrailClient({ client: plain.client, taskQueue: deployment.taskQueue });
  const orderId = plain.newOrder('business', [['Driving', 0]]);
  return (await rides.call({ account: 'business', operation: 'orderDetails', key: randomUUID(), orderId })).status;
};

async function findLease() {
  const query = `WorkflowType = "accessToken" AND TaskQueue = "${deployment.taskQueue}"`;
  for await (const { workflowId } of plain.client.workflow.list({ query })) return workflowId;
  return undefined;
}

it('a deployment takes a token lease to each new version with its next task, and an order with its next hint, without a replay', async () => {
  const beforeAny = await follow();
  await expect.poll(findLease).toBeDefined();
  const lease = plain.client.workflow.getHandle((await findLease()) ?? '');
  /** Gives the lease a task, without a request for a token: that is not the one it has. */
  const leaseAfterTask = async () => {
    await lease.signal(renewTokenSignal, { insteadOf: 'another token' });
    return versionOf(lease);
  };
  expect(await leaseAfterTask()).toBe('');

  await makeCurrent('1.0');
  await expect.poll(leaseAfterTask).toBe('1.0');
  expect(await beforeAny.end()).toBe('completed');
  expect(await versionOf(beforeAny.handle)).toBe('1.0');
  expect(await readStatus()).toBe(200);
  const onFirst = await follow();
  const asked = await follow();

  await makeCurrent('2.0'); // cannot replay a run of 1.0
  await expect.poll(leaseAfterTask).toBe('2.0');
  const onSecond = await follow();
  expect(await readStatus()).toBe(200);
  expect(await versionOf(onFirst.handle)).toBe('1.0');
  await onFirst.goOn();
  await expect.poll(() => versionOf(onFirst.handle)).toBe('2.0');
  expect(await onFirst.end()).toBe('completed');
  expect(await onSecond.end()).toBe('completed');
  expect([await versionOf(onFirst.handle), await versionOf(onSecond.handle)]).toEqual(['2.0', '2.0']);

  await makeCurrent('3.0');
  expect(await versionOf(asked.handle)).toBe('1.0');
  await asked.handle.executeUpdate('refreshOrder');
  await expect.poll(() => versionOf(asked.handle)).toBe('3.0');
  expect(await asked.end()).toBe('completed');
});

/** As `temporal workflow signal --query` does. A namespace has one such batch at a time. */
const signalAll = (visibilityQuery: string) =>
  plain.client.workflowService
    .startBatchOperation({
      namespace: 'default',
      jobId: randomUUID(),
      reason: 'a new version',
      visibilityQuery,
      signalOperation: { signal: 'newVersion' },
    })
    .catch(() => undefined);

const { VERSIONING_BEHAVIOR_PINNED: pinnedBehavior } = protocol.temporal.api.enums.v1.VersioningBehavior;
const { PINNED_OVERRIDE_BEHAVIOR_PINNED: pinnedOverride } =
  protocol.temporal.api.workflow.v1.VersioningOverride.PinnedOverrideBehavior;

/** Rejects if a worker of today does not repeat the steps of this run, or a task has let it move by itself. */
async function judgePinned(workflowId: string, runId: string): Promise<void> {
  const history = await plain.client.workflow.getHandle(workflowId, runId).fetchHistory();
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const dataConverter = toWorkerDataConverter(plain.config.payloads);
  await Worker.runReplayHistory({ workflowBundle, dataConverter }, history, workflowId);
  const tasks = history.events?.flatMap(({ workflowTaskCompletedEventAttributes: task }) => task ?? []) ?? [];
  expect(tasks.filter(({ versioningBehavior }) => versioningBehavior !== pinnedBehavior)).toEqual([]);
}

it('a signal moves all runs that rest to the new version, and none is left on the old one', async () => {
  await makeCurrent('1.0');
  const order = await follow();
  const ride = await rideUnderWay(plain);
  const orderId = plain.newOrder('business', [['Driving', 0]]);
  const report = await reported(plain, { orderId });
  const notices = await startNotices(plain, 'https://not-allowed.example.com/notices', 1);
  const runs = [order.handle, ride.handle, report, notices];
  await expect.poll(() => notices.describe().then(({ memo }) => memo)).toMatchObject({ missed: expect.anything() });
  await expect.poll(() => report.query('reportStatus')).toMatchObject({ reads: expect.any(Number) });
  const versions = () => Promise.all(runs.map(versionOf));
  const before = await Promise.all(runs.map((run) => run.describe()));
  expect(await versions()).toEqual(['1.0', '1.0', '1.0', '1.0']);

  await makeCurrent('3.0');
  expect(await versions()).toEqual(['1.0', '1.0', '1.0', '1.0']);
  const left = async () => {
    const ids: string[] = [];
    const query = `${deployment.runsOn('1.0')} AND WorkflowType != "accountWatch"`;
    for await (const { workflowId } of plain.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  };
  await expect.poll(left).toEqual(expect.arrayContaining(runs.map(({ workflowId }) => workflowId)));
  // A task queue learns of its new version some seconds later, so one signal may come too early.
  const leftAfterSignal = async () => {
    await signalAll(deployment.runsOn('1.0'));
    return left();
  };
  await expect.poll(leftAfterSignal, { interval: 1_000 }).toEqual([]);
  expect(await versions()).toEqual(['3.0', '3.0', '3.0', '3.0']);
  for (const { workflowId, runId } of before) await judgePinned(workflowId, runId);

  await shows(order.handle, { status: 'Driving' });
  await stands(ride.handle, { stage: 'following', status: goesOn.at(-1)?.status });
  plain.sandbox.setStatus('business', orderId, 'Completed');
  await expect.poll(() => report.query('reportStatus')).toMatchObject({ orderId: toOrderId(orderId), receipt: {} });
  expect(await order.end()).toBe('completed');
});

/** As `temporal workflow update-options --versioning-override-behavior pinned` does. */
function pinTo(buildId: string, workflowId: string) {
  const pinned = { behavior: pinnedOverride, version: { deploymentName: deployment.name, buildId } };
  return plain.client.workflowService.updateWorkflowExecutionOptions({
    namespace: 'default',
    workflowExecution: { workflowId },
    workflowExecutionOptions: { versioningOverride: { pinned } },
    updateMask: { paths: ['versioning_override'] },
  });
}

it('an order that an operator pins to its version stays there', async () => {
  await makeCurrent('1.0');
  const { handle, end } = await follow();
  await pinTo('1.0', handle.workflowId);
  const { runId } = await handle.describe();
  const other = await follow();
  await makeCurrent('3.0');
  const otherAsked = async () => {
    await other.handle.executeUpdate('refreshOrder');
    return versionOf(other.handle);
  };
  await expect.poll(otherAsked).toBe('3.0');
  await handle.executeUpdate('refreshOrder');
  await handle.executeUpdate('refreshOrder');
  expect([await versionOf(handle), (await handle.describe()).runId]).toEqual(['1.0', runId]);
  expect([await end(), await other.end()]).toEqual(['completed', 'completed']);
});
