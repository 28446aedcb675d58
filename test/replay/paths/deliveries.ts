import { expect, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import type { parkedDelivery } from '../../../src/workflows/parked-delivery.js';
import { deliver, newDelivery, newReport, reported } from '../../support/delivery/deliveries.js';
import type { OrderStack, Place } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { attributeOf, pendingOf } from '../../support/runs.js';
import { cancelled, completed, ended, type Paths } from './path.js';

type Reported = Parameters<typeof reported>[1];

const endedOrder = (stack: OrderStack) => stack.newOrder('business', [['Completed', 0]]);
/** A report whose run ends soon after the last delivery. */
const report = (stack: OrderStack, { limits, ...about }: Reported = { orderId: endedOrder(stack) }) =>
  reported(stack, { ...about, limits: { quietMs: 1_500, ...limits } });
const shows = (handle: Awaited<ReturnType<typeof report>>, about: object) =>
  vi.waitFor(async () => expect(await handle.query('reportStatus')).toMatchObject(about), patient);

async function continued(stack: OrderStack) {
  const handle = await report(stack, { orderId: endedOrder(stack), limits: { maxSignals: 3 } });
  await Promise.all([1, 2, 3, 4].map(() => deliver(handle, newReport())));
  return await completed(handle);
}

const reportPaths: Paths = {
  'report-read': (stack) => completed(report(stack)),
  async 'report-again-during-the-read'(stack) {
    const orderId = endedOrder(stack);
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 500, orderId });
    const handle = await report(stack, { orderId });
    await vi.waitFor(() => expect(stack.sandbox.ledger({ orderId })).toHaveLength(1), patient);
    await deliver(handle, newReport());
    await deliver(handle, newReport());
    await completed(handle);
    stack.sandbox.clearFault(fault);
    return handle;
  },
  async 'report-forbidden'(stack) {
    const orderId = endedOrder(stack);
    const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
    const handle = await report(stack, { orderId, limits: { quietMs: 4_000 } });
    await shows(handle, { unavailable: { code: 'forbidden' } });
    await deliver(handle, newReport());
    // The read that the report asks for waits a minute, as the refusal told it to.
    const waiting = async () => (await pendingOf(handle)).map(({ name }) => name);
    await vi.waitFor(async () => expect(await waiting()).toEqual(['readReceipt']), patient);
    stack.sandbox.clearFault(fault);
    await handle.terminate();
    return handle;
  },
  async 'report-with-attention'(stack) {
    const orderId = endedOrder(stack);
    stack.sandbox.setFault({ kind: 'unauthorized', orderId });
    const handle = await report(stack, { orderId });
    const attention = () => attributeOf(handle, 'RideAttention');
    await vi.waitFor(async () => expect(await attention()).toBe('credentialsRejected'), patient);
    stack.sandbox.clearFaults();
    return await completed(handle);
  },
  'report-without-order-that-tells-others': (stack) =>
    completed(report(stack, { input: { notify: [{ workflowId: 'nobody', signal: 'reportChanged' }] } })),
  async 'report-continued-as-new'(stack) {
    const { workflowId, signaledRunId: runId } = await continued(stack);
    return { workflowId, runId };
  },
  'report-after-continue-as-new': continued,
  async 'report-cancelled'(stack) {
    const handle = await report(stack);
    await shows(handle, { receipt: expect.any(Object) });
    return await cancelled(handle);
  },
  'report-with-bad-input': (stack) => ended(report(stack, { input: { poll: 5 } as never })),
};

/** A delivery that waits for a person. */
export function parked({ client, config }: Place, more: object = {}, limits?: { keptMs: number }) {
  const delivery = newDelivery();
  const key = { account: toAccountName('business'), deliveryId: delivery.deliveryId };
  const input = { ...key, ...delivery, eventType: 'status_changed', reason: 'noOrderId', sealed: 'sealed' } as const;
  return client.workflow.start<typeof parkedDelivery>('parkedDelivery', {
    workflowId: parkedDeliveryId(key),
    taskQueue: config.taskQueue,
    args: limits ? [{ ...input, ...more }, { limits }] : [{ ...input, ...more }],
  });
}

async function routed(stack: OrderStack, more: object = {}) {
  const handle = await parked(stack, more);
  await handle.executeUpdate('routeDelivery', { args: [{ orderId: endedOrder(stack) }] });
  return await completed(handle);
}

const parkedPaths: Paths = {
  'parked-routed': (stack) => routed(stack),
  async 'parked-discarded'(stack) {
    const handle = await parked(stack);
    await handle.executeUpdate('routeDelivery', { args: [{} as never] }).catch(() => undefined);
    await handle.executeUpdate('discardDelivery', { args: [{ reason: 'recorded' }] });
    return await completed(handle);
  },
  'parked-expired': (stack) => completed(parked(stack, {}, { keptMs: 1_000 })),
  'parked-with-bad-input': (stack) => ended(parked(stack, { reason: 'unlucky' })),
};

/** Every way through the workflows of reports and of parked deliveries, by name. */
export const recordedDeliveryPaths = { ...reportPaths, ...parkedPaths };
