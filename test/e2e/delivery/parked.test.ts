import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { findLeaks } from '../../../dev/faults/chaos/leaks.js';
import { createDeliveryActivities, type DeliveryRoutes } from '../../../src/activities/runs.js';
import type { DeliveryResult } from '../../../src/domain/delivery.js';
import { toAccountName } from '../../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../../src/domain/parked.js';
import { accountQueueOf } from '../../../src/domain/task-queues.js';
import { parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { discardDeliveryUpdate, routeDeliveryUpdate } from '../../../src/workflows/messages.js';
import type { parkedDelivery } from '../../../src/workflows/parked-delivery.js';
import { newDelivery } from '../../support/delivery/deliveries.js';
import { resetPoints, resetRun } from '../../support/operator.js';
import { eventsOf, timersOf } from '../../support/runs.js';
import { runWorker, useTemporal } from '../../support/worker/runtime.js';

const taskQueue = `q-${randomUUID()}`;
/** Where deliveries went, and what the routes do next. */
const routed: unknown[] = [];
let next: () => Promise<Exclude<DeliveryResult, 'reported'>>;
const routes: DeliveryRoutes = {
  async toRun({ account, orderId, eventType }, deliveries) {
    routed.push({ account, orderId, deliveries });
    return eventType === 'business_report' ? 'reported' : await next();
  },
};

const temporal = useTemporal();
let stops: (() => Promise<void>)[] = [];

/** One worker knows nothing of the account, and the other one holds it. */
beforeAll(async () => {
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const activities = createDeliveryActivities({ routes });
  const { native: connection } = temporal;
  stops = await Promise.all([
    runWorker({ connection, taskQueue, workflowBundle }),
    runWorker({ connection, taskQueue: accountQueueOf(taskQueue, 'business'), activities }),
  ]);
});
afterAll(() => Promise.all(stops.map((stop) => stop())));
beforeEach(() => {
  routed.length = 0;
  next = async () => 'signalled';
});

const sealed = 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl';

async function parked(more: Partial<Record<keyof ParkedDeliveryInput, unknown>> = {}, keptMs?: number) {
  const delivery = newDelivery();
  const key = { account: toAccountName('business'), deliveryId: delivery.deliveryId };
  const input = { ...key, ...delivery, reason: 'noOrderId', sealed, ...more };
  const workflowId = parkedDeliveryId(key);
  const args: Parameters<typeof parkedDelivery> = [input as ParkedDeliveryInput];
  if (keptMs !== undefined) args.push({ limits: { keptMs } });
  const handle = await temporal.client.workflow.start<typeof parkedDelivery>('parkedDelivery', {
    workflowId,
    taskQueue,
    args,
  });
  return { handle, ...key, receivedAt: delivery.receivedAt };
}

type Parked = Awaited<ReturnType<typeof parked>>['handle'];
const route = (handle: Parked, orderId = '4711') => handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId }] });
const discard = (handle: Parked, reason: string) => handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason }] });

describe('a parked delivery', () => {
  it('waits for 30 days, listed under its account, and never shows its content', async () => {
    const { handle, deliveryId, receivedAt } = await parked();
    expect(await handle.query('parkedStatus')).toEqual({
      account: 'business',
      eventType: 'status_changed',
      deliveryId,
      receivedAt,
      reason: 'noOrderId',
      outcome: 'waiting',
      orderId: null,
      discardReason: null,
    });
    await expect
      .poll(async () => await handle.describe())
      .toMatchObject({ searchAttributes: { RideAccount: ['business'] }, memo: { parked: { outcome: 'waiting' } } });
    const events = await eventsOf(handle);
    expect(await timersOf(handle)).toEqual([30 * 86_400]);
    const textOf = (some: typeof events) => Buffer.from(JSON.stringify(historyToJSON({ events: some })));
    const texts = { start: textOf(events.slice(0, 1)), later: textOf(events.slice(1)) };
    expect(findLeaks({ sealed }, texts), 'only the input holds it').toEqual(['start: sealed']);
    await handle.terminate();
  });

  it.each([
    ['status_changed', 'signalled'],
    ['business_report', 'reported'],
  ])('of %s goes to the order that a person names, or to its report, once, and ends', async (eventType, handedOver) => {
    const { handle, account, deliveryId, receivedAt } = await parked({ eventType });
    expect(await route(handle)).toMatchObject({ outcome: 'routed', orderId: '4711', handedOver });
    expect(routed).toEqual([{ account, orderId: '4711', deliveries: [{ deliveryId, eventType, receivedAt }] }]);
    expect(await handle.result()).toMatchObject({ outcome: 'routed', orderId: '4711', discardReason: null });
  });

  it('takes the time of its event along to the order, as a delivery that is routed at once does', async () => {
    const eventTime = '2026-03-02T08:15:51.740Z';
    const { handle, account, deliveryId, receivedAt } = await parked({ eventTime });
    await route(handle);
    const delivery = { deliveryId, eventType: 'status_changed', receivedAt, eventTime };
    expect(routed).toEqual([{ account, orderId: '4711', deliveries: [delivery] }]);
    expect(await handle.result()).toMatchObject({ outcome: 'routed', eventTime });
  });

  it('waits or goes to its order again after a reset of its run to each of its tasks, and a repeat has the same id', async () => {
    const { handle, account, deliveryId, receivedAt } = await parked();
    await route(handle);
    await handle.result();
    const first = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    for (const point of await resetPoints(handle)) {
      await resetRun(temporal.client, first, point, 'nothing');
      const current = temporal.client.workflow.getHandle(handle.workflowId) as Parked;
      const { outcome } = await current.query<{ outcome: string }>('parkedStatus');
      if (outcome === 'waiting') await route(current);
      expect(await current.result(), `reset to ${point}`).toMatchObject({ outcome: 'routed', orderId: '4711' });
    }
    const delivery = { deliveryId, eventType: 'status_changed', receivedAt };
    for (const one of routed) expect(one).toEqual({ account, orderId: '4711', deliveries: [delivery] });
  });

  it('stays parked when no run takes it, can be routed again, and is handed over although Temporal refuses the first time', async () => {
    next = async () => 'ignored';
    const { handle } = await parked();
    const refused = route(handle);
    await expect(refused).rejects.toThrow(WorkflowUpdateFailedError);
    await expect(refused).rejects.toMatchObject({ cause: { type: 'NotRouted' } });
    expect(await handle.query('parkedStatus')).toMatchObject({ outcome: 'waiting', orderId: null });
    const outcomes = [() => Promise.reject(new Error('unavailable')), async () => 'late' as const];
    next = () => (outcomes.shift() ?? next)();
    const answer = await route(handle, '4712');
    expect(answer).toMatchObject({ outcome: 'routed', orderId: '4712', handedOver: 'late' });
  });

  it('expires once its time is over, and then takes no decision', async () => {
    const { handle } = await parked({}, 1_000);
    expect(await handle.result()).toMatchObject({ outcome: 'expired', orderId: null, discardReason: null });
    expect((await handle.describe()).memo).toMatchObject({ parked: { outcome: 'expired' } });
    await expect(discard(handle, 'too late')).rejects.toThrow();
  });

  it.each(['routed', 'expired'])(
    'whose time is over while it is handed over is %s by what comes of that',
    async (end) => {
      let free: (outcome: 'signalled' | 'ignored') => void = () => undefined;
      next = () => new Promise((resolve) => (free = resolve));
      const { handle } = await parked({}, 2_000);
      const routing = route(handle).catch(() => undefined);
      await expect.poll(() => routed.length).toBe(1);
      await expect
        .poll(async () => (await eventsOf(handle)).some((event) => event.timerFiredEventAttributes))
        .toBe(true);
      expect(await handle.query('parkedStatus')).toMatchObject({ outcome: 'waiting' });
      free(end === 'routed' ? 'signalled' : 'ignored');
      await routing;
      expect(await handle.result()).toMatchObject({ outcome: end });
    },
  );

  it('takes one decision at a time', async () => {
    let free: (outcome: 'signalled') => void = () => undefined;
    next = () => new Promise((resolve) => (free = resolve));
    const { handle } = await parked();
    const first = route(handle);
    await expect.poll(() => routed.length).toBe(1);
    const discarded = discard(handle, 'a test');
    await expect(discarded).rejects.toMatchObject({ cause: { type: 'AlreadyDecided' } });
    free('signalled');
    expect(await first).toMatchObject({ outcome: 'routed' });
    expect(await handle.result()).toMatchObject({ outcome: 'routed', discardReason: null });
  });
});
