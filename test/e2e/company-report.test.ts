import { afterEach, describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { CompanyReport } from '../../src/domain/report.js';
import { companyReportId } from '../../src/domain/workflow-ids.js';
import { deliver, newReport, portOf, reported as start } from '../support/delivery/deliveries.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { useOrderStack } from '../support/order/stack.js';
import { attributeOf, continued, timersOf } from '../support/runs.js';

const stack = useOrderStack();
afterEach(() => stack.sandbox.clearFaults());

const account = toAccountName('business');
const readsOf = (orderId: string) =>
  stack.sandbox.ledger({ orderId }).filter(({ operation }) => operation === 'orderReceipt');
const receipt = { payment_summary: expect.objectContaining({ total_inc_tax: 48 }) };

const reported = ({ limits = {}, ...about }: Parameters<typeof start>[1]) => start(stack, { limits, ...about });
const stateOf = (handle: Awaited<ReturnType<typeof reported>>): Promise<CompanyReport> => handle.query('reportStatus');
const ended = () => stack.newOrder('business', [['Completed', 0]]);

describe('a report about an order', () => {
  it('keeps its place among unread ones while it looks for the receipt', async () => {
    const port = portOf(stack);
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const key = { account, about: toOrderId(orderId) };
    await port.toReport(key, [newReport()]);
    await expect.poll(() => readsOf(orderId).length).toBeGreaterThan(1);
    expect(await port.isSettled(companyReportId(key))).toBe(false);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await expect.poll(() => port.isSettled(companyReportId(key))).toBe(true);
  });

  it('that comes during a read leads to one more read, however many come', async () => {
    const orderId = ended();
    stack.sandbox.setFault({ kind: 'slow', delayMs: 1_500, orderId });
    const handle = await reported({ orderId });
    await expect.poll(() => readsOf(orderId).length).toBe(1);
    const sentAt = new Date().toISOString();
    const signals = Array.from({ length: 5 }, () => deliver(handle, newReport()));
    await Promise.all(signals);
    await expect.poll(() => stateOf(handle)).toMatchObject({ reads: 2, deliveries: { received: 6 } });
    expect(readsOf(orderId)).toHaveLength(2);
    expect((readsOf(orderId)[1]?.at ?? '') >= sentAt).toBe(true);
  });

  it('leads to reading its receipt, however long that is not ready, and takes the amounts of the last read', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await reported({ orderId });
    await expect.poll(() => readsOf(orderId).length).toBeGreaterThan(1);
    expect(await stateOf(handle)).toMatchObject({ receipt: null, unavailable: null });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, unavailable: null });
    expect(await stateOf(handle)).toMatchObject({ account, orderId, deliveries: { received: 1, duplicate: 0 } });
    expect(readsOf(orderId).at(-1)).toMatchObject({ scope: 'finance', httpStatus: 200 });
    expect(await attributeOf(handle, 'RideAccount')).toBe('business');
    const changed = { payment_summary: { total_inc_tax: '23.00' } };
    stack.sandbox.setFault({ kind: 'reply', operation: 'orderReceipt', orderId, status: 200, body: changed });
    await deliver(handle, newReport());
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt: changed });
  });
});

it('a run keeps a report that names no order, tells its receivers, and reads nothing', async () => {
  const { receiver, told, end } = await startToldWorkflow(stack);
  const one = newReport();
  const notify = [{ ...receiver, workflowId: 'unknown' }, receiver];
  const handle = await reported({ deliveries: [one], input: { notify } });
  const reports = [{ deliveryId: one.deliveryId }];
  await expect.poll(told).toMatchObject([{ account, orderId: null, receipt: null, reports }]);
  expect(await stateOf(handle)).toMatchObject({ reads: 0, reports });
  await end();
});

describe('the run of a report', () => {
  it('ends after ten quiet minutes if it names no order and has no receiver, and otherwise after seven days', async () => {
    const notify = [{ workflowId: 'unknown', signal: 'told' }];
    const abouts = { unasked: {}, asked: { input: { notify } }, named: { orderId: ended() } };
    const quietOf = async (about: Parameters<typeof start>[1]) => {
      const handle = await start(stack, about);
      await expect.poll(() => stateOf(handle)).toMatchObject({ deliveries: { received: 1 } });
      const [quiet] = await timersOf(handle);
      await handle.terminate();
      return quiet;
    };
    expect(await quietOf(abouts.unasked)).toBe(600);
    expect(await quietOf(abouts.asked)).toBe(7 * 86_400);
    expect(await quietOf(abouts.named)).toBe(7 * 86_400);
  });

  it('ends by itself when nothing more is reported, and a later report begins another', async () => {
    const orderId = ended();
    const handle = await reported({ orderId, limits: { quietMs: 2_500 } });
    await deliver(handle, newReport());
    expect(await handle.result()).toMatchObject({ receipt, deliveries: { received: 2 } });
    const later = await reported({ orderId, limits: { quietMs: 1_000 } });
    expect(await later.result()).toMatchObject({ receipt, deliveries: { received: 1 } });
  });

  it('continues as new in time, loses no report, and takes the read along that a report has asked for', async () => {
    const orderId = ended();
    const handle = await reported({ orderId, limits: { maxSignals: 1 } });
    for (let sent = 0; sent < 23; sent += 1) await deliver(handle, newReport());
    await expect.poll(async () => (await stateOf(handle)).deliveries.received).toBe(24);
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, deliveries: { duplicate: 0 } });
    await continued(handle);
  });
});
