import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { startCall } from '../../support/call/calls.js';
import { resetPoints, resetRun } from '../../support/operator.js';
import { useOrderStack } from '../../support/order/stack.js';
import { createsOf, failureOf, ordersOf, type RideRun, rideUnderWay, stands } from '../../support/ride/rides.js';

const tokenLifetimeSeconds = 10;
const stack = useOrderStack({ sandbox: { business: { tokenLifetimeSeconds } } });

/** From now on the workers hold no token that has not expired, and the service gives none. */
async function withoutTokens(act: () => Promise<void>): Promise<void> {
  await stack.stopWorker();
  await sleep(tokenLifetimeSeconds * 1_000);
  stack.sandbox.setFault({ kind: 'invalidClient' });
  onTestFinished(() => stack.sandbox.clearFaults());
  await act();
  await stack.startWorker();
}

it('a ride that was reset and is in doubt is not withdrawn by a cancel, but follows the order that a person names', async () => {
  const { handle, requestId } = await rideUnderWay(stack);
  const ride = stack.client.workflow.getHandle(handle.workflowId) as RideRun;
  const cancel = () => failureOf(ride.executeUpdate('cancelRide'));
  await stack.stopWorker();
  const [point = 0] = await resetPoints(handle);
  await resetRun(stack.client, { workflowId: handle.workflowId, runId: handle.firstExecutionRunId }, point, 'nothing');
  const first = cancel(); // the run takes it in its first task, before it sends a create
  await stack.startWorker();
  expect(await first).toMatchObject({ type: 'OutcomeUnknown' });
  expect(await cancel()).toMatchObject({ type: 'OutcomeUnknown' });
  const [order] = ordersOf(stack, requestId);
  const { orderId = '' } = order ?? {};
  await ride.executeUpdate('resolveRide', { args: [{ orderId }] });
  await stands(ride, { stage: 'following', orderId, outcome: null });
  expect(createsOf(stack, requestId)).toHaveLength(1);
  await ride.terminate();
});

it('a ride or a call that placed an order, and was reset, does not fail as if there were none, although it gets no token', async () => {
  const { handle, requestId } = await rideUnderWay(stack);
  const call = await startCall(stack, 'createOrder', { body: newRide() });
  await call.result();
  const ride = stack.client.workflow.getHandle(handle.workflowId) as RideRun;
  await withoutTokens(async () => {
    for (const { workflowId, firstExecutionRunId: runId } of [handle, call]) {
      const [point = 0] = await resetPoints(stack.client.workflow.getHandle(workflowId, runId));
      await resetRun(stack.client, { workflowId, runId }, point, 'nothing');
    }
  });
  await stands(ride, {
    ...{ stage: 'requesting', orderId: null },
    attention: { code: 'outcomeUnknown', message: expect.stringMatching(/credentials.*The run was reset/) },
  });
  const again = stack.client.workflow.getHandle(call.workflowId).result();
  expect(await failureOf(again)).toMatchObject({ type: 'OutcomeUnknown', message: /The run was reset/ });
  expect(ordersOf(stack, requestId)).toHaveLength(1);
  expect(createsOf(stack, requestId)).toHaveLength(1);
  await ride.terminate();
});
