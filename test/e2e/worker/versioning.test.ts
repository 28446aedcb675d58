import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createFaretrailClient } from '../../../src/client/index.js';
import { renewTokenSignal } from '../../../src/workflows/messages.js';
import { type WorkerEnv, workerEnv } from '../../support/accounts.js';
import { type FollowHandle, shows, useOrderStack } from '../../support/order/stack.js';
import { bundleOf } from '../../support/worker/runtime.js';

const deploymentName = `rides-${randomUUID()}`;
/** What all versions share, as the workers of one deployment do. */
const shared: WorkerEnv = {
  FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
  FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
};
const version = (buildId: string): WorkerEnv => ({
  ...shared,
  TEMPORAL_DEPLOYMENT_NAME: deploymentName,
  TEMPORAL_WORKER_BUILD_ID: buildId,
});

/** Workers that are not versioned, with the sandbox that all use. */
const plain = useOrderStack({ env: shared });
const onSandbox = (buildId: string) => ({ env: { ...workerEnv(plain.sandbox.url), ...version(buildId) } });
useOrderStack(() => onSandbox('1.0'));
const nextWorkflows = () => bundleOf('worker/next-version-workflows.ts');
useOrderStack(async () => ({ ...onSandbox('2.0'), workflowBundle: await nextWorkflows() }));
useOrderStack(() => onSandbox('3.0'));

/** As `temporal worker deployment set-current-version` does. A version is known once its workers have polled. */
async function makeCurrent(buildId: string): Promise<void> {
  const set = () =>
    plain.client.workflowService
      .setWorkerDeploymentCurrentVersion({ namespace: 'default', deploymentName, buildId })
      .then(
        () => 'set',
        ({ message }: Error) => message,
      );
  await expect.poll(set).toBe('set');
}

/** As `temporal workflow update-options --versioning-override-behavior auto_upgrade` does. */
const moveAlong = (workflowId: string) =>
  plain.client.workflowService.updateWorkflowExecutionOptions({
    namespace: 'default',
    workflowExecution: { workflowId },
    workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
    updateMask: { paths: ['versioning_override'] },
  });

/** Which version the last task of a run was done by; empty: by a worker that is not versioned. */
async function versionOf(handle: Pick<FollowHandle, 'describe'>): Promise<string> {
  const { raw } = await handle.describe();
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? '';
}

async function follow(): Promise<{ handle: FollowHandle; end(): Promise<string | null> }> {
  const orderId = plain.newOrder('partner', [['Driving', 0]]);
  const handle = await plain.follow('partner', orderId);
  await shows(handle, { status: 'Driving' });
  return {
    handle,
    async end() {
      plain.sandbox.setStatus('partner', orderId, 'Completed');
      return (await handle.result()).outcome;
    },
  };
}

/** A read belongs to no workflow, so no version has begun it. */
const readStatus = async (): Promise<number> => {
  const rides = createFaretrailClient({ client: plain.client, taskQueue: shared.FARETRAIL_TASK_QUEUE ?? '' });
  const orderId = plain.newOrder('business', [['Driving', 0]]);
  return (await rides.call({ account: 'business', operation: 'orderDetails', key: randomUUID(), orderId })).status;
};

async function findLease() {
  const query = `WorkflowType = "accessToken" AND TaskQueue = "${shared.FARETRAIL_TASK_QUEUE}"`;
  for await (const { workflowId } of plain.client.workflow.list({ query })) return workflowId;
  return undefined;
}

it('a deployment keeps an order on the version that it began on, takes a token lease along to each new one, and an order that is moved', async () => {
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
  const toBeMoved = await follow();

  await makeCurrent('2.0');
  await expect.poll(leaseAfterTask).toBe('2.0');
  const onSecond = await follow();
  expect(await readStatus()).toBe(200);
  expect(await onFirst.end()).toBe('completed');
  expect(await onSecond.end()).toBe('completed');
  expect([await versionOf(onFirst.handle), await versionOf(onSecond.handle)]).toEqual(['1.0', '2.0']);

  await makeCurrent('3.0');
  await toBeMoved.handle.executeUpdate('refreshOrder');
  expect(await versionOf(toBeMoved.handle)).toBe('1.0');
  await moveAlong(toBeMoved.handle.workflowId);
  await toBeMoved.handle.executeUpdate('refreshOrder');
  expect(await versionOf(toBeMoved.handle)).toBe('3.0');
  expect(await toBeMoved.end()).toBe('completed');
});
