import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type EventType, eventTypes } from '../../../src/domain/subscription/subscription.js';
import {
  companyReportId,
  type FollowOrderKey,
  followOrderId,
  subscriptionId,
} from '../../../src/domain/workflow-ids.js';
import { rotateSubscriptionUpdate, subscriptionStatusQuery } from '../../../src/workflows/messages.js';
import {
  active,
  business,
  type DeliveryScene,
  openDeliveryScene,
  type SubscriptionHandle,
} from '../../processes/delivery-scene.js';
import { isLong } from '../../support/long.js';
import { type ActivityAction, activityActions, actOn, resetPoints, resetRun } from '../../support/operator.js';
import { patient } from '../../support/patience.js';
import { pendingOf } from '../../support/runs.js';

let scene: DeliveryScene;
let publicUrl: string;
beforeAll(async () => {
  scene = await openDeliveryScene();
  publicUrl = (await scene.startIngress({ verification: { mode: 'path' } })).url;
});
afterEach(async () => {
  scene.fleet.sandbox.clearFaults();
  for (const eventType of eventTypes)
    await scene.fleet.client.workflow
      .getHandle(subscriptionId({ account: business, eventType }))
      .terminate()
      .catch(() => undefined); // none runs
});
afterAll(() => scene?.close());

const subscribersTo = (eventType: EventType) =>
  scene.fleet.sandbox.subscribers().filter((one) => one.eventType === eventType);

/** The newest run of a subscription. */
const newestOf = ({ workflowId }: SubscriptionHandle) =>
  scene.fleet.client.workflow.getHandle(workflowId) as SubscriptionHandle;

/** Posts to the address that the service holds as its newest. */
async function deliver(eventType: EventType, order: FollowOrderKey): Promise<number> {
  const address = subscribersTo(eventType).at(-1)?.hookAddress ?? '';
  const body = JSON.stringify({ event_type: eventType, order_id: order.orderId, status: 'Driving' });
  return (await fetch(address, { method: 'POST', body })).status;
}

/** Resolves once the service delivers to the address in force, and a delivery there has reached a run. */
async function lives(run: SubscriptionHandle, eventType: EventType, after: string): Promise<void> {
  await vi.waitFor(async () => {
    const { generations } = await newestOf(run).query(subscriptionStatusQuery);
    const inForce = generations.find(({ state }) => state === 'current')?.subscriberId;
    expect(inForce, after).toBe(subscribersTo(eventType).at(-1)?.id);
  }, patient);
  const order = { account: business, orderId: scene.newOrder('Driving') };
  await vi.waitFor(async () => expect(await deliver(eventType, order), after).toBe(202), patient);
  const workflowId =
    eventType === 'status_changed'
      ? followOrderId(order)
      : companyReportId({ account: business, about: order.orderId });
  await vi.waitFor(() => scene.fleet.client.workflow.getHandle(workflowId).describe(), patient);
  await scene.fleet.client.workflow.getHandle(workflowId).terminate();
}

const kinds = isLong ? (['nothing', 'all'] as const) : (['nothing'] as const);

it.each(isLong ? eventTypes : eventTypes.slice(0, 1))(
  'a subscription to %s lives on after a reset of its run to each of its tasks',
  { timeout: 600_000 },
  async (eventType) => {
    const run = await scene.subscribe(eventType, publicUrl);
    await active(run);
    await run.executeUpdate(rotateSubscriptionUpdate, { args: [{ graceMs: 0 }] });
    const first = { workflowId: run.workflowId, runId: run.firstExecutionRunId };
    for (const point of await resetPoints(run)) {
      for (const reapply of kinds) {
        await resetRun(scene.fleet.client, first, point, reapply);
        await lives(run, eventType, `reset to ${point}, and reapplied: ${reapply}`);
      }
    }
  },
);

it('a subscription lives on when its run is reset to the task in which it continued as new', async () => {
  const run = await scene.subscribe('business_report', publicUrl, { maxEvents: 8 });
  await active(run);
  const first = { workflowId: run.workflowId, runId: run.firstExecutionRunId };
  await vi.waitFor(async () => expect((await newestOf(run).describe()).runId).not.toBe(first.runId), patient);
  await newestOf(run).executeUpdate(rotateSubscriptionUpdate, { args: [{ graceMs: 0 }] });
  const old = scene.fleet.client.workflow.getHandle(first.workflowId, first.runId);
  await resetRun(scene.fleet.client, first, (await resetPoints(old)).at(-1) ?? 0, 'nothing');
  await lives(run, 'business_report', 'reset to the last task');
});

const started = 2; // PENDING_ACTIVITY_STATE_STARTED
const actions = isLong ? (Object.keys(activityActions) as ActivityAction[]) : (['reset'] as const);

// The server notices a dead worker only when the time of its request is over, after 70 s.
it.runIf(isLong).each(actions)(
  'a worker dies during a request for a subscription and an operator does this to its activity: %s',
  { timeout: 600_000 },
  async (action) => {
    const { fleet } = scene;
    const before = subscribersTo('status_changed').length;
    const durationMs = 4_000; // it subscribes us, and the answer is on its way
    fleet.sandbox.setFault({ kind: 'slowBody', operation: 'createSubscriber', durationMs, times: 1 });
    const run = await scene.subscribe('status_changed', publicUrl);
    await vi.waitFor(() => expect(subscribersTo('status_changed').length).toBeGreaterThan(before), {
      timeout: 180_000,
      interval: 20,
    });
    await fleet.workers.at(-1)?.kill();
    const act = () => actOn(fleet.client, run.workflowId, 'createSubscriber', action);
    await act();
    const isUnderWay = async () => (await pendingOf(run)).some(({ state }) => state === started);
    await vi.waitFor(async () => expect(await isUnderWay()).toBe(false), { timeout: 180_000, interval: 500 });
    if ((await pendingOf(run)).length > 0) await act(); // it waits for another attempt
    await fleet.addWorker();
    await active(run, 150_000);
    const addresses = subscribersTo('status_changed').map(({ hookAddress }) => hookAddress);
    expect(new Set(addresses).size, 'no address was asked for twice').toBe(addresses.length);
    await lives(run, 'status_changed', action);
  },
);

it.each(actions)('a subscription that waits goes on after an operator did this to its watch: %s', async (action) => {
  const run = await scene.subscribe('business_report', publicUrl);
  await active(run);
  await vi.waitFor(
    async () => expect((await pendingOf(run)).map(({ name }) => name)).toEqual(['watchResets']),
    patient,
  );
  const [point = 0] = (await resetPoints(run)).slice(-1);
  await actOn(scene.fleet.client, run.workflowId, 'watchResets', action);
  await run.executeUpdate(rotateSubscriptionUpdate, { args: [{ graceMs: 0 }] });
  await lives(run, 'business_report', action);
  await resetRun(scene.fleet.client, { workflowId: run.workflowId, runId: run.firstExecutionRunId }, point, 'nothing');
  await lives(run, 'business_report', `${action}, then reset`);
});
