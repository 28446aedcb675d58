import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createDeliveryActivities, type DeliveryRoutes } from '../../../src/activities/delivery.js';
import type { HandOverOutcome } from '../../../src/domain/delivery.js';
import { toAccountName } from '../../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../../src/domain/parked.js';
import { parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { discardDeliveryUpdate, routeDeliveryUpdate } from '../../../src/workflows/messages.js';
import type { parkedDelivery } from '../../../src/workflows/parked-delivery.js';
import { findLeaks } from '../../support/leaks.js';
import { quietRuntime } from '../../support/worker/runtime.js';

const taskQueue = `q-${randomUUID()}`;
/** Where deliveries went, and what the routes do next. */
const routed: unknown[] = [];
let next: () => Promise<Exclude<HandOverOutcome, 'reported'>>;
const routes: DeliveryRoutes = {
  async toOrder(key, deliveries) {
    routed.push({ ...key, deliveries });
    return await next();
  },
  async toReport(key, deliveries) {
    routed.push({ ...key, deliveries });
  },
};

let connection: Connection;
let native: NativeConnection;
let client: Client;
let stop: () => Promise<void>;

async function startWorker(): Promise<void> {
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundlePath') },
    activities: createDeliveryActivities({ routes }),
  });
  const running = worker.run();
  stop = async () => {
    worker.shutdown();
    await running;
  };
}

beforeAll(async () => {
  quietRuntime();
  const address = inject('temporalAddress');
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection });
  await startWorker();
});
afterAll(async () => {
  await stop();
  await native.close();
  await connection.close();
});
beforeEach(() => {
  routed.length = 0;
  next = async () => 'signalled';
});

const sealed = 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl';

async function parked(more: Partial<Record<keyof ParkedDeliveryInput | 'extra', unknown>> = {}) {
  const key = { account: toAccountName('business'), deliveryId: randomUUID().replaceAll('-', '') };
  const receivedAt = '2031-05-01T10:00:00.000Z';
  const input = { ...key, eventType: 'status_changed', receivedAt, reason: 'noOrderId', sealed, ...more };
  const workflowId = parkedDeliveryId(key);
  const args: [ParkedDeliveryInput] = [input as ParkedDeliveryInput];
  const handle = await client.workflow.start<typeof parkedDelivery>('parkedDelivery', { workflowId, taskQueue, args });
  return { handle, ...key, receivedAt };
}

describe('a parked delivery', () => {
  it('waits without a timer, listed under its account, and never shows its content', async () => {
    const { handle, deliveryId } = await parked();
    expect(await handle.query('parkedDelivery')).toEqual({
      account: 'business',
      eventType: 'status_changed',
      deliveryId,
      receivedAt: '2031-05-01T10:00:00.000Z',
      reason: 'noOrderId',
      outcome: 'waiting',
      orderId: null,
      discardReason: null,
    });
    await expect
      .poll(async () => await handle.describe())
      .toMatchObject({ searchAttributes: { RideAccount: ['business'] }, memo: { parked: { outcome: 'waiting' } } });
    const { events } = await handle.fetchHistory();
    expect((events ?? []).filter((event) => event.timerStartedEventAttributes)).toEqual([]);
    const textOf = (some: typeof events) => Buffer.from(JSON.stringify(historyToJSON({ events: some ?? [] })));
    const texts = { start: textOf(events?.slice(0, 1)), later: textOf(events?.slice(1)) };
    expect(findLeaks({ sealed }, texts), 'it stands in the input alone').toEqual(['start: sealed']);
    await handle.terminate();
  });

  it('goes to the order that a person names, once, and ends', async () => {
    const { handle, account, deliveryId, receivedAt } = await parked();
    const answer = await handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    expect(answer).toMatchObject({ outcome: 'routed', orderId: '4711', handedOver: 'signalled' });
    expect(routed).toEqual([
      { account, orderId: '4711', deliveries: [{ deliveryId, eventType: 'status_changed', receivedAt }] },
    ]);
    expect(await handle.result()).toMatchObject({ outcome: 'routed', orderId: '4711', discardReason: null });
  });

  it('of a report goes to the report of that order', async () => {
    const { handle, account, deliveryId, receivedAt } = await parked({ eventType: 'business_report' });
    const answer = await handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    expect(answer).toMatchObject({ outcome: 'routed', handedOver: 'reported' });
    const deliveries = [{ deliveryId, eventType: 'business_report', receivedAt }];
    expect(routed).toEqual([{ account, about: '4711', deliveries }]);
  });

  it('is handed over although Temporal refuses the first time', async () => {
    const outcomes = [() => Promise.reject(new Error('unavailable')), async () => 'started' as const];
    next = () => (outcomes.shift() ?? next)();
    const { handle } = await parked();
    const answer = await handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    expect(answer).toMatchObject({ handedOver: 'started' });
    expect(routed).toHaveLength(2);
  });

  it('stays parked when nobody takes it, and can be routed again', async () => {
    next = async () => 'ignored';
    const { handle } = await parked();
    const refused = handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    await expect(refused).rejects.toThrow(WorkflowUpdateFailedError);
    await expect(refused).rejects.toMatchObject({ cause: { type: 'NotRouted' } });
    expect(await handle.query('parkedDelivery')).toMatchObject({ outcome: 'waiting', orderId: null });
    next = async () => 'late';
    const answer = await handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4712' }] });
    expect(answer).toMatchObject({ outcome: 'routed', orderId: '4712', handedOver: 'late' });
  });

  it('takes one decision at a time', async () => {
    let free: (outcome: 'signalled') => void = () => undefined;
    next = () => new Promise((resolve) => (free = resolve));
    const { handle } = await parked();
    const first = handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    await expect.poll(() => routed.length).toBe(1);
    const discarded = handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason: 'a test' }] });
    await expect(discarded).rejects.toMatchObject({ cause: { type: 'AlreadyDecided' } });
    free('signalled');
    expect(await first).toMatchObject({ outcome: 'routed' });
    expect(await handle.result()).toMatchObject({ outcome: 'routed', discardReason: null });
  });

  it('is discarded with a reason', async () => {
    const { handle } = await parked();
    const answer = await handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason: 'not ours' }] });
    expect(answer).toMatchObject({ outcome: 'discarded', discardReason: 'not ours', orderId: null });
    expect(await handle.result()).toEqual(answer);
    expect(routed).toEqual([]);
  });

  it('waits on when its worker is replaced', async () => {
    const { handle } = await parked();
    await handle.query('parkedDelivery');
    await stop();
    await startWorker();
    const answer = await handle.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: '4711' }] });
    expect(answer).toMatchObject({ outcome: 'routed' });
  });
});

describe('bad input', () => {
  it.each([[{}], [{ orderId: '' }], [{ orderId: 'a/b' }], [{ orderId: '1', also: 2 }], ['4711'], [null]])(
    'routeDelivery refuses %j, and the delivery stays parked',
    async (input) => {
      const { handle } = await parked();
      const refused = handle.executeUpdate(routeDeliveryUpdate, { args: [input as never] });
      await expect(refused).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
      expect(await handle.query('parkedDelivery')).toMatchObject({ outcome: 'waiting' });
      await handle.terminate();
    },
  );

  it('discardDelivery wants a reason', async () => {
    const { handle } = await parked();
    const refused = handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason: '' }] });
    await expect(refused).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
    await handle.terminate();
  });

  it.each([
    ['unknown field "extra"', { extra: 1 }],
    ['reason', { reason: 'unlucky' }],
    ['eventType', { eventType: 'test' }],
    ['receivedAt', { receivedAt: 'today' }],
    ['sealed', { sealed: '' }],
    ['workflow id', { deliveryId: 'f'.repeat(32) }],
  ])('at the start fails the run at once, and names the field: %s', async (named, input) => {
    const { handle } = await parked(input);
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'InvalidInput', message: expect.stringContaining(named) },
    });
  });
});
