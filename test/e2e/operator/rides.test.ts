import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { startCall } from '../../support/call/calls.js';
import { actOn, resetPoints, resetRun } from '../../support/operator.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import {
  createsOf,
  goesOn,
  type RideRun,
  requestedRide,
  rideUnderWay,
  standingOf,
  stands,
} from '../../support/ride/rides.js';
import { eventsOf } from '../../support/runs.js';
import { usePostgres } from '../../support/store/postgres.js';
import { startFleet } from '../../support/worker/fleet.js';

/** The run knows its order, or asks a person about it. */
const isDecided = (run: RideRun, timeout = 180_000): Promise<void> =>
  vi.waitFor(
    async () => {
      const { orderId, attention } = await standingOf(run);
      expect(orderId !== null || attention?.code === 'outcomeUnknown').toBe(true);
    },
    { ...patient, timeout },
  );

// The service recognises no repeats, as far as the profile knows.
describe.concurrent('a service', () => {
  const stack = useOrderStack();

  it.sequential('gets one create of a ride whose run is reset to each of its tasks', { timeout: 600_000 }, async () => {
    const { handle, requestId } = await rideUnderWay(stack, {}, { script: goesOn });
    await handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'x' } }] }).catch(() => undefined);
    const run = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    const current = stack.client.workflow.getHandle(handle.workflowId) as typeof handle;
    for (const point of await resetPoints(handle)) {
      await resetRun(stack.client, run, point, 'nothing');
      await isDecided(current);
      expect(createsOf(stack, requestId), `reset to ${point}`).toHaveLength(1);
    }
    await current.terminate();
  });

  it.sequential('gets one create of a call whose run is reset to each of its tasks after its end', async () => {
    const call = await startCall(stack, 'createOrder', { body: newRide() });
    await call.result();
    const creates = () =>
      stack.sandbox.ledger({ operation: 'createOrder' }).filter((one) => one.requestId === call.workflowId).length;
    const run = { workflowId: call.workflowId, runId: call.firstExecutionRunId };
    for (const point of await resetPoints(call)) {
      const again = stack.client.workflow.getHandle(call.workflowId, await resetRun(stack.client, run, point));
      const end = await again.result().catch((error: { cause: { type: string } }) => error.cause.type);
      expect([typeof end === 'string' ? 'OutcomeUnknown' : end]).toEqual([end]);
      expect(creates()).toBe(1);
    }
  });

  it.sequential('gets one create of a ride whose first run is reset twice, where only the run between them sent it', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    stack.sandbox.setFault({ kind: 'tooManyRequests', operation: 'createOrder', retryAfterSeconds: 3, times: 1 });
    const { handle, requestId } = await requestedRide(stack);
    const first = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    const point = await vi.waitFor(async () => {
      const [, pause] = (await eventsOf(handle)).flatMap((event) => event.timerStartedEventAttributes ?? []);
      return Number(pause?.workflowTaskCompletedEventId ?? expect.fail('the create is not to be tried again'));
    }, patient);
    const before = createsOf(stack, requestId).length;
    const current = stack.client.workflow.getHandle(handle.workflowId) as typeof handle;
    for (const reapply of ['all', 'nothing'] as const) {
      await resetRun(stack.client, first, point, reapply);
      await isDecided(current);
      expect(createsOf(stack, requestId).length - before).toBeLessThan(2);
    }
    await current.terminate();
  });

  it.sequential('gets a create of a ride that was reset once a person asks, and none when that is sent to a run again', async () => {
    const { handle, requestId } = await rideUnderWay(stack);
    const { workflowId, firstExecutionRunId: runId } = handle;
    const current = stack.client.workflow.getHandle(workflowId) as typeof handle;
    const [point = 0] = await resetPoints(handle);
    const second = await resetRun(stack.client, { workflowId, runId }, point);
    await stands(current, { attention: { code: 'outcomeUnknown' } });
    expect(createsOf(stack, requestId).length).toBe(1);
    const resolved = await current.executeUpdate('resolveRide', { args: [{ tryAgain: true }] });
    expect(resolved).toMatchObject({ attention: null });
    expect(createsOf(stack, requestId).length).toBe(2);
    const asked = (await eventsOf(stack.client.workflow.getHandle(workflowId, second))).find(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes,
    );
    await resetRun(stack.client, { workflowId, runId: second }, Number(asked?.eventId) - 1, 'updates');
    await vi.waitFor(async () => {
      const attempts = (await eventsOf(current)).filter((event) => event.activityTaskCompletedEventAttributes);
      expect(attempts).toHaveLength(2);
    }, patient);
    await stands(current, { attention: { code: 'outcomeUnknown' } });
    expect(createsOf(stack, requestId).length).toBe(2);
    await current.terminate();
  });

  it.sequential('gets no create of a ride that a person withdraws after a reset, unless it had one', async () => {
    const { handle, requestId } = await rideUnderWay(stack);
    const [first = 0] = await resetPoints(handle);
    await handle.executeUpdate('cancelRide').catch(() => undefined);
    await resetRun(stack.client, { workflowId: handle.workflowId, runId: handle.firstExecutionRunId }, first, 'all');
    const current = stack.client.workflow.getHandle(handle.workflowId) as typeof handle;
    await stands(current, { attention: { code: 'outcomeUnknown' }, outcome: null });
    expect(createsOf(stack, requestId).length).toBe(1);
    await current.terminate();
  });
});

const postgres = usePostgres();
it.concurrent.each(['cancelRide', 'reset'] as const)(
  'a worker dies during a create, and somebody does this to its activity or its ride: %s',
  { timeout: 600_000 },
  async (action) => {
    const fleet = await startFleet(1, { env: { FARETRAIL_STORE_URL: postgres.url } });
    const { sandbox, client } = fleet;
    try {
      sandbox.setRideSettings({ script: goesOn, forgetsRequestIds: true });
      sandbox.setFault({ kind: 'slow', operation: 'createOrder', delayMs: 4_000, times: 1 });
      const requestId = randomUUID();
      const { handle } = await requestedRide(fleet.place, { requestId });
      await vi.waitFor(() => expect(createsOf(fleet, requestId).length).toBe(1), { timeout: 180_000, interval: 20 });
      if (action === 'cancelRide') void handle.executeUpdate(action).catch(() => undefined);
      await sleep(500);
      await fleet.workers[0]?.kill();
      if (action !== 'cancelRide') await actOn(client, handle.workflowId, 'attemptCall', action);
      await fleet.addWorker();
      await isDecided(handle, 150_000);
      expect(sandbox.createdOrders()).toHaveLength(1);
      expect(createsOf(fleet, requestId)).toHaveLength(1);
      const stored = 'select order_id, attention from faretrail.rides where request_id = $1';
      await vi.waitFor(async () => expect(await postgres.rows(stored, [requestId])).toHaveLength(1), patient);
      await handle.terminate();
    } finally {
      await fleet.close();
    }
  },
);
