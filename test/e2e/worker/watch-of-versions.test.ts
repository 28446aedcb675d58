import { beforeAll, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { accountWatchId } from '../../../src/domain/workflow-ids.js';
import { shows, useOrderStack } from '../../support/order/stack.js';
import { newDeployment, versionOf } from '../../support/worker/versions.js';

const deployment = newDeployment();

/** The sandbox that all versions use. */
const plain = useOrderStack({ env: deployment.unversioned });
const versioned = (buildId: string) => () => ({
  env: deployment.version(buildId, plain.sandbox.url),
  watchPace: { versions: 300 },
});
useOrderStack(versioned('1.0'));
useOrderStack(versioned('2.0'));
// Without the account `business`.
useOrderStack(() => ({
  ...versioned('3.0')(),
  env: deployment.version('3.0', plain.sandbox.url, { businessAs: 'taxis' }),
}));

beforeAll(() => plain.stopWorker());

/** The version whose worker holds the watch, and that of the last task of its run. */
async function holderOf(account: string) {
  const handle = plain.client.workflow.getHandle(accountWatchId(toAccountName(account), deployment.taskQueue));
  const { raw } = await handle.describe();
  const [activity] = raw.pendingActivities ?? [];
  return [activity?.lastDeploymentVersion?.buildId, await versionOf(handle)];
}

/** The worker of version 1.0 polls the order. */
async function follow(account: 'partner' | 'business') {
  const orderId = plain.newOrder(account, [['Routing', 0]]);
  const handle = await plain.follow(account, orderId);
  await shows(handle, { status: 'Routing' });
  await expect.poll(() => holderOf(account)).toEqual(['1.0', '1.0']);
  return { orderId, handle };
}

it('a worker whose version is no longer current hands its watch to one of the current version, there and back', async () => {
  await deployment.makeCurrent(plain.client, '1.0');
  const { orderId, handle } = await follow('partner');
  for (const [buildId, status] of [
    ['2.0', 'Confirmed'],
    ['1.0', 'Driving'],
  ] as const) {
    await deployment.makeCurrent(plain.client, buildId);
    await expect.poll(() => holderOf('partner')).toEqual([buildId, buildId]);
    plain.sandbox.setStatus('partner', orderId, status);
    await shows(handle, { status });
  }
});

it('a worker keeps the watch of an account that no worker of the current version holds', async () => {
  await deployment.makeCurrent(plain.client, '1.0');
  const { orderId, handle } = await follow('business');
  await follow('partner');
  await deployment.makeCurrent(plain.client, '3.0', { ignoreMissingTaskQueues: true });
  await expect.poll(() => holderOf('partner')).toEqual(['3.0', '3.0']);
  plain.sandbox.setStatus('business', orderId, 'Confirmed');
  await shows(handle, { status: 'Confirmed' });
  const [holder] = await holderOf('business'); // its run has moved
  expect(holder).toBe('1.0');
});
