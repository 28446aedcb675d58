import type { WorkflowHandle } from '@temporalio/client';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDeliveryReader } from '../../../src/contracts/delivery-body.js';
import type { JsonObject } from '../../../src/contracts/json.js';
import { shownText } from '../../../src/domain/json.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { followOrderId, parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { createDirectForwarding } from '../../../src/webhooks/forward/routing.js';
import { startCall } from '../../support/call/calls.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { fieldsRead, type Hostility, hostileFields, hostileJson, hostilities } from '../../support/hostile/json.js';
import { isLong } from '../../support/long.js';
import { type FollowHandle, trailOf, useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { eventsOf, pendingOf } from '../../support/runs.js';
import { webhookEnv } from '../../support/subscription/subscriptions.js';
import { account, startIngressStand } from '../../webhooks/ingress-stand.js';

const share = isLong ? 10 : 1;
const seed = Number(process.env.FARETRAIL_TEST_SEED ?? Date.now() % 2 ** 31);

const stack = useOrderStack(() => ({ env: { ...webhookEnv(), FARETRAIL_POLL_ACTIVE_MS: '400' } }));
/** Every run that met something, by what that was. */
const runs = new Map<string, WorkflowHandle>();

beforeAll(async () => {
  process.stderr.write(`hostile text: FARETRAIL_TEST_SEED=${seed}\n`);
  const scope = 'demand_partner order company.reference finance \u0000\ud800\u202e';
  stack.sandbox.setFault({ kind: 'tokenAnswer', with: { scope } });
});
afterAll(() => Promise.all([...runs.values()].map((handle) => handle.terminate().catch(() => undefined))));

interface Case {
  field: string[];
  hostility: Hostility;
}

/** So many of all pairs of a field and its content. */
const draw = (fields: string[][], count: number): Case[] =>
  fc.sample(fc.record({ field: fc.constantFrom(...fields), hostility: fc.constantFrom(...hostilities) }), {
    seed,
    numRuns: count * share,
  });
const named = ({ field, hostility }: Case): string => `/${field.join('/')} ${hostility}`;
const bodyOf = (base: object, { field, hostility }: Case) => hostileJson(base, field, hostileFields[hostility]);

/** Runs all of them at once; what fails says which it was. */
const each = <C extends Case>(cases: C[], act: (one: C) => Promise<void>): Promise<unknown> =>
  Promise.all(
    cases.map((one) =>
      act(one).catch((error: unknown) => {
        throw new Error(named(one), { cause: error });
      }),
    ),
  );

/** Answers with these bytes, to calls of one order where it names one, until what it gives back is called. */
function answering(body: Buffer, where: { orderId?: string; status?: number }) {
  const id = stack.sandbox.setFault({ kind: 'reply', status: 200, bytes: body.toString('base64'), ...where });
  return () => stack.sandbox.clearFault(id);
}

const accountAt = (at: string) =>
  stack.config.accounts.find(({ name }) => name === at) ?? expect.fail(`there is no account ${at}`);

/** The fields that the reader of orders looks for at one interface. */
const orderFields = (at: 'partner' | 'business') =>
  fieldsRead({ status: 'Routing' }, (body) => {
    const http = { send: async () => ({ status: 200, headers: {}, body }), close: async () => {} };
    return createRideApi({ profile: stack.config.profile, http }).readOrder(accountAt(at), toOrderId('1'), 'token');
  });

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

describe('hostile text, in any field', () => {
  it.each(['partner', 'business'] as const)('of an answer of %s is harmless, and the order goes on', async (at) => {
    const inStatus = hostilities.map((hostility) => ({ field: ['status'], hostility }));
    const drawn = [...inStatus, ...draw(await orderFields(at), 8)];
    const cases = drawn.map((one) => ({ ...one, orderId: stack.newOrder(at, [['Pending', 0]]) }));
    const handles: FollowHandle[] = [];
    const repairs = cases.map((one) => answering(bodyOf({ status: 'Routing' }, one), { orderId: one.orderId }));
    await each(cases, async (one) => {
      const handle = await stack.follow(at, one.orderId);
      runs.set(`${at} ${named(one)}`, handle);
      handles.push(handle);
      await vi.waitFor(() => isHarmless(handle), patient);
    });
    await areIndexed(handles);
    for (const repair of repairs) repair();
    for (const { orderId } of cases) stack.sandbox.setStatus(at, orderId, 'Completed');
    for (const handle of handles) expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  });

  it('of the answer to a call is harmless, and the call comes to an end', async () => {
    const inSuccess = draw([['note'], ['driver', 'name'], ['id']], 6).map((one) => ({ ...one, status: 200 }));
    const inRefusal = draw([['error', 'code'], ['error', 'message'], ['request_id']], 6);
    const cases = [...inSuccess, ...inRefusal.map((one) => ({ ...one, status: 422 }))];
    await each(cases, async (one) => {
      const orderId = toOrderId(stack.newOrder('business', [['Pending', 0]]));
      const base =
        one.status === 200 ? { status: 'Pending' } : { error: { code: 'NO', message: 'no' }, request_id: 'r' };
      const repair = answering(bodyOf(base, one), { orderId, status: one.status });
      const handle = await startCall(stack, 'orderDetails', { orderId });
      runs.set(`call ${one.status} ${named(one)}`, handle);
      const ended = handle.result().then(
        ({ status }) => status,
        ({ cause }: { cause?: { type?: string } }) => cause?.type,
      );
      const isOver = async () => (await handle.describe()).status.name !== 'RUNNING';
      await vi.waitFor(async () => expect((await isOver()) || (await lastFailure(handle))).toBeTruthy(), patient);
      repair();
      expect(await ended).toBe(one.status === 200 ? 200 : 'Refused');
    });
  });

  it('of a delivery is harmless, and leads to a read or is kept for a person', async () => {
    const stand = await startIngressStand();
    onTestFinished(() => stand.close());
    const { profile } = stack.config;
    const forward = createDirectForwarding({ port: portOf(stack), check: async () => null });
    const read = createDeliveryReader(profile.pointers.delivery, profile.statuses.notOrderStatus);
    const fields = await fieldsRead({ order_id: '1', status: 'Driving' }, (body) => read(body as JsonObject));
    const inStatus = hostilities.map((hostility) => ({ field: ['status'], hostility }));
    for (const one of [...inStatus, ...draw(fields, 16)]) {
      const orderId = stack.newOrder('business', [['Pending', 0]]);
      const { status } = await stand.post(bodyOf({ order_id: orderId, status: 'Driving' }, one));
      expect([202, 400, 413], named(one)).toContain(status);
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
    await Promise.all(
      [...runs].map(async ([name, handle]) => {
        expect(await failedTasksOf(handle), name).toEqual([]);
      }),
    );
  });
});

/** Why workflow tasks of the run failed. A task that met a new signal at its end is tried again, and has not failed. */
async function failedTasksOf(handle: WorkflowHandle): Promise<unknown[]> {
  const metNewSignal = 1; // WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
  return (await eventsOf(handle)).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && failed.cause !== metNewSignal ? [failed.failure?.message] : [],
  );
}
