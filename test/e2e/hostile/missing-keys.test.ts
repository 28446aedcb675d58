import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { beforeAll, expect, inject, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { toDataConverter, toWorkerDataConverter } from '../../../src/sealing/data-converter.js';
import { createNamedKey } from '../../../src/sealing/key-ring.js';
import type { PayloadEncryption } from '../../../src/sealing/payload-codec.js';
import { deliver, newDelivery } from '../../support/delivery/deliveries.js';
import { encrypted, raw } from '../../support/hostile/payloads.js';
import { resetPoints, resetRun } from '../../support/operator.js';
import { shows, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { failureOf } from '../../support/ride/rides.js';
import { useOwnServer } from '../../support/server/own-server.js';

const held = createNamedKey('held', randomBytes(32));
const later = createNamedKey('later', randomBytes(32));
const withBoth: PayloadEncryption = { keys: [held, later], encrypts: true };

const FARETRAIL_PAYLOAD_KEYS = `held:${Buffer.from(held.key).toString('base64url')}`;
const server = useOwnServer(); // the watch encrypts what it tells subscriptions, and other tests do not hold its keys
const stack = useOrderStack(() => ({
  env: { FARETRAIL_PAYLOAD_KEYS, FARETRAIL_ENCRYPT_PAYLOADS: 'true' },
  address: server.address,
}));
let client: Client;
beforeAll(() => {
  client = new Client({
    connection: stack.client.connection,
    dataConverter: toDataConverter({ ...withBoth, encrypts: false }),
  });
});

const orderIn = (status: string) => {
  const orderId = stack.newOrder('business', [[status, 0]]);
  return { orderId, workflowId: followOrderId({ account: toAccountName('business'), orderId: toOrderId(orderId) }) };
};
const inputOf = (orderId: string) => raw(JSON.stringify({ account: 'business', orderId }));
const rawDelivery = () => raw(JSON.stringify({ deliveries: [newDelivery()] }));

/** Its workflow task has failed, and is tried again. */
const waits = (workflowId: string) =>
  vi.waitFor(async () => {
    const { pendingWorkflowTask } = (await client.workflow.getHandle(workflowId).describe()).raw;
    expect(pendingWorkflowTask?.attempt).toBeGreaterThan(1);
  }, patient);

it('a start and a signal wait for a worker that holds their key, and a signal that its key does not open is one of unknown content', async () => {
  const { orderId, workflowId } = orderIn('Driving');
  await stack.follow('business', orderId);
  const order = client.workflow.getHandle(workflowId);
  const received = (count: number) => shows(order as never, { deliveries: { received: count } });
  const otherKeyOfThisId = createNamedKey('held', randomBytes(32));
  await order.signal('deliveryReceived', await encrypted(rawDelivery(), 'others', otherKeyOfThisId));
  const update = order.executeUpdate('stopFollowing', {
    args: [await encrypted(raw('{"reason":"r"}'), 'others', later)],
  });
  expect(await failureOf(update)).toMatchObject({ message: expect.stringContaining('a key that is not held') });
  await deliver(order, newDelivery());
  await received(2);

  const waiting = orderIn('Completed');
  const start = { workflowId: waiting.workflowId, taskQueue: stack.config.taskQueue };
  await client.workflow.start('followOrder', {
    ...start,
    args: [await encrypted(inputOf(waiting.orderId), 'others', later)],
  });
  await order.signal('deliveryReceived', await encrypted(rawDelivery(), 'others', later));
  await Promise.all([waits(waiting.workflowId), waits(workflowId)]);
  await order.signal('deliveryReceived', await encrypted(rawDelivery(), 'ourProcesses', later));

  await stack.stopWorker();
  await stack.startWorker(withBoth);
  await received(4);
  stack.sandbox.setStatus('business', orderId, 'Completed');
  expect(await order.result()).toMatchObject({ outcome: 'completed', deliveries: { received: 4 } });
  expect(await client.workflow.getHandle(waiting.workflowId).result()).toMatchObject({ outcome: 'completed' });

  const options = { workflowBundle: { codePath: inject('workflowBundlePath') } };
  const history = await order.fetchHistory();
  await Worker.runReplayHistory({ ...options, dataConverter: toWorkerDataConverter(withBoth) }, history, workflowId);
});

it('a run that a signal stops for good goes on after a reset to the task before it, without signals', async () => {
  const { orderId, workflowId } = orderIn('Driving');
  const { firstExecutionRunId: runId } = await stack.follow('business', orderId);
  const run = client.workflow.getHandle(workflowId);
  await shows(run as never, { status: 'Driving' });
  const point = (await resetPoints(run)).at(-1) ?? 0;
  const lost = createNamedKey('lost', randomBytes(32));
  await run.signal('deliveryReceived', await encrypted(rawDelivery(), 'others', lost));
  await waits(workflowId);
  await resetRun(client, { workflowId, runId }, point, 'updates');
  stack.sandbox.setStatus('business', orderId, 'Completed');
  expect(await client.workflow.getHandle(workflowId).result()).toMatchObject({ outcome: 'completed' });
});

it('a start whose input its own key does not open fails at once', async () => {
  const { orderId, workflowId } = orderIn('Completed');
  const damaged = await encrypted(inputOf(orderId), 'others', createNamedKey('held', randomBytes(32)));
  const start = { workflowId, taskQueue: stack.config.taskQueue, args: [damaged] };
  expect(await failureOf(client.workflow.execute('followOrder', start))).toMatchObject({
    type: 'InvalidInput',
    message: expect.stringMatching(/^input: cannot be decoded: encrypted/),
  });
});
