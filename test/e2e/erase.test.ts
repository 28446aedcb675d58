import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { afterEach, expect, inject, it, vi } from 'vitest';
import { type OrderId, toAccountName } from '../../src/domain/keys.js';
import { parkedDeliveryId } from '../../src/domain/workflow-ids.js';
import { runHere } from '../cli/fake-process.js';
import { startCall } from '../support/call/calls.js';
import { newDelivery, reported } from '../support/delivery/deliveries.js';
import { useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { completes, goesOn, requestedRide, stands } from '../support/ride/rides.js';
import { areListed } from '../support/runs.js';

const stack = useOrderStack();
afterEach(() => stack.sandbox.setRideSettings({ script: null }));

const account = toAccountName('business');
const asked: string[] = [];
const answering = (answer: boolean) => ({
  async question(text: string) {
    asked.push(text);
    return answer ? 'y' : '';
  },
});
const erase = (orderId: string, options: string[] = [], more: Parameters<typeof runHere>[2] = {}) =>
  runHere(['erase', 'business', orderId, ...options], { TEMPORAL_ADDRESS: inject('temporalAddress'), PATH: '' }, more);

interface Erased {
  erased: { kind: string; workflowId: string }[];
  left: unknown[];
  stays: string[];
}
const told = ({ stdout }: { stdout: string }): Erased => JSON.parse(stdout);

const listed = (state: string, ...ids: string[]) => areListed(stack.client, state, ids);
const isGone = (workflowId: string) =>
  expect(stack.client.workflow.getHandle(workflowId).describe()).rejects.toThrow(WorkflowNotFoundError);

async function endedRide() {
  stack.sandbox.setRideSettings({ script: completes });
  const { handle, requestId } = await requestedRide(stack, { receipt: false });
  const { orderId } = await handle.result();
  return { handle, requestId, orderId: orderId as OrderId, order: `order/business/${orderId}` };
}

async function park(aboutOrderId: OrderId) {
  const delivery = newDelivery();
  const input = { account, ...delivery, reason: 'followingStopped', aboutOrderId, sealed: '' };
  const workflowId = parkedDeliveryId({ account, deliveryId: delivery.deliveryId });
  const { taskQueue } = stack.config;
  const run = await stack.client.workflow.start('parkedDelivery', { workflowId, taskQueue, args: [input] });
  await run.query('parkedStatus');
  return run;
}

/** Starts a run whose input is wrong, so that it fails at once. */
async function startFailing(workflowId: string): Promise<void> {
  const type = workflowId.startsWith('change/') ? 'changeRide' : 'notices';
  const { taskQueue } = stack.config;
  const run = await stack.client.workflow.start(type, { workflowId, taskQueue, args: [{}] });
  await run.result().catch(() => undefined);
}

it('erase removes each run about an order, and no other; then the order can be followed anew', async () => {
  const [ride, other] = [await endedRide(), await endedRide()];
  const { orderId } = ride;
  const calls = await Promise.all(
    [orderId, other.orderId].map((id) => startCall(stack, 'orderDetails', { orderId: id })),
  );
  await Promise.all(calls.map((call) => call.result()));
  const report = await reported(stack, { orderId });
  const [parked, otherParked] = await Promise.all([park(orderId), park(other.orderId)]);
  const [changed, late] = [`change/business/${ride.requestId}/c1`, `notices/${ride.order}/${randomUUID()}/0`];
  const lateOfRide = `notices/${ride.handle.workflowId}/${randomUUID()}/0`;
  const others = [ride.handle.workflowId, ride.order].map((id) => `notices/${id}0/${randomUUID()}/0`);
  others.push(`change/business/${ride.requestId}0/c1`);
  for (const workflowId of [changed, late, lateOfRide, ...others]) await startFailing(workflowId);
  await listed('Failed', changed, late, lateOfRide, ...others);
  const ended = [ride.handle, other.handle, ...calls].map(({ workflowId }) => workflowId);
  await listed('Completed', ...ended, ride.order);
  await listed('Running', report.workflowId, parked.workflowId);

  const refused = await erase(orderId, [], answering(false));
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was removed') });
  expect(refused.stderr).toContain(`"Never twice" ends for ride/business/${ride.requestId}, `);
  expect(asked).toEqual(['Remove these 8 runs for good? [y/N] ']);
  expect(await erase(orderId)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
  expect(await erase(orderId, ['--json'], answering(true))).toMatchObject({ exitCode: 2 });
  await ride.handle.describe();

  const done = await erase(orderId, ['--yes', '--json']);
  expect(done.exitCode, done.stdout + done.stderr).toBe(0);
  const [call] = calls.map(({ workflowId }) => workflowId);
  const mine = [ride.handle.workflowId, changed, call, ride.order, report.workflowId, parked.workflowId];
  mine.push(late, lateOfRide);
  expect(told(done)).toEqual({ account, orderId, left: [], erased: expect.any(Array), stays: expect.any(Array) });
  expect(told(done).erased.map(({ workflowId }) => workflowId)).toEqual(mine);
  await Promise.all(mine.map((id) => isGone(id ?? '')));
  for (const workflowId of others) await stack.client.workflow.getHandle(workflowId).describe();
  for (const run of [other.handle, calls[1], otherParked]) await run?.describe();
  await stack.client.workflow.getHandle(other.order).describe();

  await vi.waitFor(async () => expect(await erase(orderId, ['--yes'])).toMatchObject({ exitCode: 3 }), patient);
  const again = await stack.follow('business', orderId);
  expect(await again.result()).toMatchObject({ outcome: 'completed', reads: 1 });
}, 180_000);

it('erase refuses while the order or its ride runs, and ends both where it is told to', async () => {
  stack.sandbox.setRideSettings({ script: goesOn });
  const { handle } = await requestedRide(stack, { requestId: randomUUID() });
  await stands(handle, { stage: 'following', status: 'Routing' });
  const { orderId } = await handle.query<{ orderId: string }>('rideStatus');
  await listed('Running', handle.workflowId, `order/business/${orderId}`);
  const refused = await erase(orderId, ['--yes', '--json']);
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('StillRunning') });
  expect(refused.stderr).toContain(handle.workflowId);
  await handle.describe();
  const done = await erase(orderId, ['--running'], answering(true));
  expect(done, done.stderr).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Removed 2 runs') });
  await Promise.all([handle.workflowId, `order/business/${orderId}`].map(isGone));
}, 180_000);
