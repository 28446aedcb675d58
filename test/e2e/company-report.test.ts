import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeliveryNotice } from '../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { CompanyReport, CompanyReportInput } from '../../src/domain/report.js';
import { companyReportId } from '../../src/domain/workflow-ids.js';
import type { CompanyReportLimits, companyReport } from '../../src/workflows/report/company-report.js';
import { isLong } from '../support/long.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack();
});
afterAll(() => stack.close());

const account = toAccountName('business');
const newDeliveryId = () => randomUUID().replaceAll('-', '');
const report = (deliveryId = newDeliveryId()): DeliveryNotice => ({
  deliveryId,
  eventType: 'business_report',
  receivedAt: new Date().toISOString(),
});
const readsOf = (orderId: string) =>
  stack.sandbox.ledger({ orderId }).filter(({ operation }) => operation === 'orderReceipt');
const receipt = { payment_summary: expect.objectContaining({ total_inc_tax: '22.00' }) };
const limits: CompanyReportLimits = { maxEvents: 4_000, maxSignals: 5_000, quietMs: 3_600_000 };

async function reported(
  about: string,
  deliveries: DeliveryNotice[],
  more: Partial<CompanyReportInput> = {},
  given: Partial<CompanyReportLimits> = {},
) {
  const key = { account, about: toOrderId(about) };
  return await stack.client.workflow.signalWithStart<typeof companyReport, [{ deliveries: DeliveryNotice[] }]>(
    'companyReport',
    {
      workflowId: companyReportId(key),
      taskQueue: stack.config.taskQueue,
      args: [{ account, ...more }, { limits: { ...limits, ...given } }],
      signal: 'deliveryReceived',
      signalArgs: [{ deliveries }],
    },
  );
}
type Handle = Awaited<ReturnType<typeof reported>>;
const stateOf = (handle: Handle): Promise<CompanyReport> => handle.query('reportStatus');
const about = (orderId: string) => ({ orderId: toOrderId(orderId) });
const ended = () => stack.newOrder('business', [['Completed', 0]]);

describe('a report about an order', () => {
  it('leads to reading its receipt, and never takes an amount from anywhere else', async () => {
    const orderId = ended();
    const handle = await reported(orderId, [report()], about(orderId));
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, unavailable: null });
    expect(await stateOf(handle)).toMatchObject({ account, orderId, deliveries: { received: 1, duplicate: 0 } });
    expect(readsOf(orderId)).toMatchObject([{ scope: 'finance', httpStatus: 200 }]);
    expect((await handle.describe()).searchAttributes).toMatchObject({ RideAccount: ['business'] });
  });

  it('that comes during a read leads to one more read, however many come', async () => {
    const orderId = ended();
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 3_000, orderId });
    const handle = await reported(orderId, [report()], about(orderId));
    await expect.poll(() => readsOf(orderId).length).toBe(1);
    const sentAt = new Date().toISOString();
    const signals = Array.from({ length: 5 }, () => handle.signal('deliveryReceived', { deliveries: [report()] }));
    await Promise.all(signals);
    await expect.poll(() => stateOf(handle)).toMatchObject({ reads: 2, deliveries: { received: 6 } });
    expect(readsOf(orderId)).toHaveLength(2);
    expect((readsOf(orderId)[1]?.at ?? '') >= sentAt).toBe(true);
    stack.sandbox.clearFault(fault);
  });

  it('of which 500 come in a burst cost a few reads', async () => {
    const orderId = ended();
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 300, orderId });
    const handle = await reported(orderId, [report()], about(orderId));
    const same = report();
    const since = Date.now();
    for (let sent = 0; sent < 500; sent += 25) {
      const deliveries = Array.from({ length: 25 }, (_, index) => (index < 5 ? same : report()));
      await handle.signal('deliveryReceived', { deliveries });
    }
    await expect.poll(async () => (await stateOf(handle)).deliveries).toEqual({ received: 501, duplicate: 99 });
    expect((await stateOf(handle)).reports).toHaveLength(20);
    stack.sandbox.clearFault(fault);
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt });
    expect(readsOf(orderId).length, 'one at a time').toBeLessThan(4 + (Date.now() - since) / 300);
  });

  it('waits for a receipt that is not ready yet, and takes the amounts of the last read', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await reported(orderId, [report()], about(orderId));
    await expect.poll(() => readsOf(orderId).length).toBeGreaterThan(1);
    expect(await stateOf(handle)).toMatchObject({ receipt: null, unavailable: null });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt });
    const changed = { payment_summary: { total_inc_tax: '23.00' } };
    stack.sandbox.setFault({ kind: 'reply', operation: 'orderReceipt', orderId, status: 200, body: changed });
    await handle.signal('deliveryReceived', { deliveries: [report()] });
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt: changed });
    stack.sandbox.clearFaults();
  });

  // A refusal is asked again only after a minute.
  it.runIf(isLong)(
    'that may not be read is noted without calling for a person, and read once that is repaired',
    async () => {
      const orderId = ended();
      stack.sandbox.setFault({ kind: 'forbidden', orderId });
      const handle = await reported(orderId, [report()], about(orderId));
      await expect.poll(() => stateOf(handle)).toMatchObject({ unavailable: { code: 'forbidden' }, attention: null });
      expect((await handle.describe()).searchAttributes.RideAttention).toBeUndefined();
      stack.sandbox.clearFaults();
      await handle.signal('deliveryReceived', { deliveries: [report()] });
      const patient = { timeout: 90_000 };
      await expect.poll(() => stateOf(handle), patient).toMatchObject({ receipt, unavailable: null });
    },
    120_000,
  );
});

describe('a report that names no order', () => {
  it('is kept and told to others, and nothing is read', async () => {
    const receiverId = `receiver-${randomUUID()}`;
    await stack.client.workflow.start('receiver', { workflowId: receiverId, taskQueue: `none-${receiverId}` });
    const one = report();
    const notify = ['nobody', receiverId].map((workflowId) => ({ workflowId, signal: 'reportChanged' }));
    const handle = await reported(one.deliveryId, [one], { notify });
    const { deliveryId } = one;
    const told = [{ account, orderId: null, receipt: null, reports: [{ deliveryId }] }];
    await expect.poll(() => toldTo(receiverId)).toMatchObject(told);
    expect(await stateOf(handle)).toMatchObject({ reads: 0, reports: [{ deliveryId }] });
    await stack.client.workflow.getHandle(receiverId).terminate();
  });

  async function toldTo(workflowId: string): Promise<unknown[]> {
    const { events } = await stack.client.workflow.getHandle(workflowId).fetchHistory();
    const payloads = (events ?? []).flatMap(
      (event) => event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? [],
    );
    return payloads.map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()));
  }
});

describe('the run', () => {
  it('ends by itself when nothing more is reported, and a later report begins another', async () => {
    const orderId = ended();
    const handle = await reported(orderId, [report()], about(orderId), { quietMs: 4_000 });
    await handle.signal('deliveryReceived', { deliveries: [report()] });
    expect(await handle.result()).toMatchObject({ receipt, deliveries: { received: 2 } });
    const later = await reported(orderId, [report()], about(orderId), { quietMs: 1_000 });
    expect(await later.result()).toMatchObject({ receipt, deliveries: { received: 1 } });
  });

  it('continues as new in time, and loses no report', async () => {
    const orderId = ended();
    const handle = await reported(orderId, [report()], about(orderId), { maxSignals: 5 });
    const first = (await handle.describe()).runId;
    for (let sent = 0; sent < 23; sent += 1) await handle.signal('deliveryReceived', { deliveries: [report()] });
    await expect.poll(async () => (await stateOf(handle)).deliveries.received).toBe(24);
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, deliveries: { duplicate: 0 } });
    expect((await handle.describe()).runId).not.toBe(first);
  });

  it('takes the read along that a report has asked for', async () => {
    const orderId = ended();
    const handle = await reported(orderId, [report()], about(orderId), { maxSignals: 1 });
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, reads: 1 });
  });

  it.each([
    ['unknown field "poll"', { poll: 5 }],
    ['notify', { notify: 'everybody' }],
    ['workflow id', { orderId: 'another' }],
  ])('refuses bad input at once, and names the field: %s', async (named, input) => {
    const handle = await reported(newDeliveryId(), [], input as never);
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'InvalidInput', message: expect.stringContaining(named) },
    });
  });
});
