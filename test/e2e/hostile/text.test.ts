import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { shownText } from '../../../src/domain/json.js';
import { followOrderId, parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { createDirectForwarding } from '../../../src/webhooks/forward/routing.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { type Hostility, hostileFields, hostileJson, hostilities } from '../../support/hostile/json.js';
import { type FollowHandle, trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { eventsOf, pendingOf } from '../../support/runs.js';
import { webhookEnv } from '../../support/subscription/subscriptions.js';
import { account, startIngressStand } from '../../webhooks/ingress-stand.js';

// The readers of bodies meet the same text in every field: `ride-api/hostile-answers`, `webhooks/fuzz`.
const stack = useOrderStack(() => ({ env: { ...webhookEnv(), FARETRAIL_POLL_ACTIVE_MS: '400' } }));
/** Every run that met something, by what that was. */
const runs = new Map<string, WorkflowHandle>();

beforeAll(() => {
  const scope = 'demand_partner order company.reference finance \u0000\ud800\u202e';
  stack.sandbox.setFault({ kind: 'tokenAnswer', with: { scope } });
});
afterAll(() => Promise.all([...runs.values()].map((handle) => handle.terminate().catch(() => undefined))));

const bodyOf = (base: object, hostility: Hostility, field = ['status']) =>
  hostileJson(base, field, hostileFields[hostility]);

/** All of them at once; what fails says which it was. */
const each = (act: (hostility: Hostility) => Promise<void>): Promise<unknown> =>
  Promise.all(
    hostilities.map((hostility) =>
      act(hostility).catch((error: unknown) => {
        throw new Error(hostility, { cause: error });
      }),
    ),
  );

/** Answers calls of one order with these bytes, until what it gives back is called. */
function answering(body: Buffer, orderId: string, status = 200) {
  const id = stack.sandbox.setFault({ kind: 'reply', status, bytes: body.toString('base64'), orderId });
  return () => stack.sandbox.clearFault(id);
}

const lastFailure = async (handle: WorkflowHandle) => (await pendingOf(handle))[0]?.failure ?? '';

const codes = /: (NOT_JSON|TOO_DEEP|AMBIGUOUS|TOO_LARGE|UNREADABLE_STATUS|ORDER_MISMATCH|ERROR_IN_SUCCESS)\b/;

/** Shown harmlessly, or named in what becomes the attention of the run. */
async function isHarmless(handle: FollowHandle): Promise<void> {
  const message = await lastFailure(handle);
  const { status } = await trailOf(handle);
  if (status === null) expect(message).toMatch(codes);
  for (const shown of [message, status ?? '']) expect(shownText(shown)).toBe(shown);
}

/** Each status is found by it, so no index has stumbled over one. */
async function areIndexed(handles: FollowHandle[]): Promise<void> {
  const shown = new Map(
    await Promise.all(handles.map(async (one) => [one.workflowId, (await trailOf(one)).status] as const)),
  );
  const query = `TaskQueue = '${stack.config.taskQueue}' AND WorkflowType = 'followOrder'`;
  await vi.waitFor(async () => {
    const found = new Map<string, unknown>();
    for await (const { workflowId, searchAttributes } of stack.client.workflow.list({ query })) {
      if (shown.has(workflowId)) found.set(workflowId, searchAttributes.RideStatus?.[0] ?? null);
    }
    expect(found).toEqual(shown);
  }, patient);
}

describe('hostile text', () => {
  it.each(['partner', 'business'] as const)('as a status of %s is harmless, and the order goes on', async (at) => {
    const handles: FollowHandle[] = [];
    const repairs: (() => void)[] = [];
    await each(async (hostility) => {
      const orderId = stack.newOrder(at, [['Pending', 0]]);
      const repair = answering(bodyOf({ status: 'Routing' }, hostility), orderId);
      const handle = await stack.follow(at, orderId);
      runs.set(`${at} ${hostility}`, handle);
      handles.push(handle);
      await vi.waitFor(() => isHarmless(handle), patient);
      repairs.push(() => {
        repair();
        stack.sandbox.setStatus(at, orderId, 'Completed');
      });
    });
    await areIndexed(handles);
    for (const repair of repairs) repair();
    for (const handle of handles) expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  });

  it('of a delivery is harmless, and leads to a read or is kept for a person', async () => {
    const stand = await startIngressStand();
    onTestFinished(() => stand.close());
    const forward = createDirectForwarding({ port: portOf(stack), check: async () => null });
    for (const [field, hostility] of ['status', 'order_id'].flatMap((name) =>
      hostilities.map((one) => [name, one] as const),
    )) {
      const orderId = stack.newOrder('business', [['Pending', 0]]);
      const { status } = await stand.post(bodyOf({ order_id: orderId, status: 'Driving' }, hostility, [field]));
      expect([202, 400, 413], `${field} ${hostility}`).toContain(status);
    }
    const { deliveries } = stand.store;
    await Promise.all(deliveries.map(forward));
    const byRun = deliveries.map(({ orderId, deliveryId, parkReason }) => {
      const isParked = parkReason !== undefined || orderId === null;
      const id = isParked ? parkedDeliveryId({ account, deliveryId }) : followOrderId({ account, orderId });
      return [isParked, stack.client.workflow.getHandle(id)] as const;
    });
    for (const [isParked, handle] of byRun) {
      runs.set(`delivery ${handle.workflowId}`, handle);
      if (isParked) expect(await handle.query('parkedStatus')).toMatchObject({ outcome: 'waiting' });
      else {
        const { timeline, deliveries: told } = await trailOf(handle);
        // Two hostile ids may be the same.
        expect(told.received).toBe(byRun.filter(([, { workflowId }]) => workflowId === handle.workflowId).length);
        for (const { status } of timeline) expect(shownText(status)).toBe(status);
      }
    }
  });

  it('has ended no worker, and failed no task', async () => {
    expect(stack.isWorkerRunning()).toBe(true);
    await Promise.all([...runs].map(async ([name, handle]) => expect(await failedTasksOf(handle), name).toEqual([])));
  });
});

/** Why workflow tasks of the run failed. A task that met a new signal at its end is tried again, and has not failed. */
async function failedTasksOf(handle: WorkflowHandle): Promise<unknown[]> {
  const metNewSignal = 1; // WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
  return (await eventsOf(handle)).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && failed.cause !== metNewSignal ? [failed.failure?.message] : [],
  );
}
