import { afterEach, describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { CompanyReport } from '../../src/domain/report.js';
import { deliver, newReport, reported as start } from '../support/delivery/deliveries.js';
import { isLong } from '../support/long.js';
import { startToldWorkflow } from '../support/notify/receiver.js';
import { useOrderStack } from '../support/order/stack.js';
import { attributeOf, continued, refusesInput } from '../support/runs.js';

const stack = useOrderStack();
afterEach(() => stack.sandbox.clearFaults());

const account = toAccountName('business');
const readsOf = (orderId: string) =>
  stack.sandbox.ledger({ orderId }).filter(({ operation }) => operation === 'orderReceipt');
const receipt = { payment_summary: expect.objectContaining({ total_inc_tax: '22.00' }) };

const reported = ({ limits = {}, ...about }: Parameters<typeof start>[1]) => start(stack, { limits, ...about });
const stateOf = (handle: Awaited<ReturnType<typeof reported>>): Promise<CompanyReport> => handle.query('reportStatus');
const ended = () => stack.newOrder('business', [['Completed', 0]]);

describe('a report about an order', () => {
  it('leads to reading its receipt, and never takes an amount from anywhere else', async () => {
    const orderId = ended();
    const handle = await reported({ orderId });
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, unavailable: null });
    expect(await stateOf(handle)).toMatchObject({ account, orderId, deliveries: { received: 1, duplicate: 0 } });
    expect(readsOf(orderId)).toMatchObject([{ scope: 'finance', httpStatus: 200 }]);
    expect(await attributeOf(handle, 'RideAccount')).toBe('business');
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

  it('of which 500 come in a burst cost a few reads', async () => {
    const orderId = ended();
    stack.sandbox.setFault({ kind: 'slow', delayMs: 300, orderId });
    const handle = await reported({ orderId });
    const same = newReport();
    const since = Date.now();
    for (let sent = 0; sent < 500; sent += 25) {
      const deliveries = Array.from({ length: 25 }, (_, index) => (index < 5 ? same : newReport()));
      await deliver(handle, ...deliveries);
    }
    await expect.poll(async () => (await stateOf(handle)).deliveries).toEqual({ received: 501, duplicate: 99 });
    expect((await stateOf(handle)).reports).toHaveLength(20);
    stack.sandbox.clearFaults();
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt });
    expect(readsOf(orderId).length, 'one at a time').toBeLessThan(4 + (Date.now() - since) / 300);
  });

  it('waits for a receipt that is not ready yet, and takes the amounts of the last read', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const handle = await reported({ orderId });
    await expect.poll(() => readsOf(orderId).length).toBeGreaterThan(1);
    expect(await stateOf(handle)).toMatchObject({ receipt: null, unavailable: null });
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt });
    const changed = { payment_summary: { total_inc_tax: '23.00' } };
    stack.sandbox.setFault({ kind: 'reply', operation: 'orderReceipt', orderId, status: 200, body: changed });
    await deliver(handle, newReport());
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt: changed });
  });

  // A refusal is asked again only after a minute.
  it.runIf(isLong)(
    'that may not be read is noted without calling for a person, and read once that is repaired',
    async () => {
      const orderId = ended();
      stack.sandbox.setFault({ kind: 'forbidden', orderId });
      const handle = await reported({ orderId });
      await expect.poll(() => stateOf(handle)).toMatchObject({ unavailable: { code: 'forbidden' }, attention: null });
      expect(await attributeOf(handle, 'RideAttention')).toBeNull();
      stack.sandbox.clearFaults();
      await deliver(handle, newReport());
      const patient = { timeout: 90_000 };
      await expect.poll(() => stateOf(handle), patient).toMatchObject({ receipt, unavailable: null });
    },
    120_000,
  );
});

it('a report that names no order is kept and told to others, and nothing is read', async () => {
  const { receiver, told, end } = await startToldWorkflow(stack);
  const one = newReport();
  const notify = [{ ...receiver, workflowId: 'nobody' }, receiver];
  const handle = await reported({ deliveries: [one], input: { notify } });
  const reports = [{ deliveryId: one.deliveryId }];
  await expect.poll(told).toMatchObject([{ account, orderId: null, receipt: null, reports }]);
  expect(await stateOf(handle)).toMatchObject({ reads: 0, reports });
  await end();
});

describe('the run of a report', () => {
  it('ends by itself when nothing more is reported, and a later report begins another', async () => {
    const orderId = ended();
    const handle = await reported({ orderId, limits: { quietMs: 2_500 } });
    await deliver(handle, newReport());
    expect(await handle.result()).toMatchObject({ receipt, deliveries: { received: 2 } });
    const later = await reported({ orderId, limits: { quietMs: 1_000 } });
    expect(await later.result()).toMatchObject({ receipt, deliveries: { received: 1 } });
  });

  it('continues as new in time, and loses no report', async () => {
    const orderId = ended();
    const handle = await reported({ orderId, limits: { maxSignals: 5 } });
    for (let sent = 0; sent < 23; sent += 1) await deliver(handle, newReport());
    await expect.poll(async () => (await stateOf(handle)).deliveries.received).toBe(24);
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, deliveries: { duplicate: 0 } });
    await continued(handle);
  });

  it('takes the read along that a report has asked for', async () => {
    const orderId = ended();
    const handle = await reported({ orderId, limits: { maxSignals: 1 } });
    await expect.poll(() => stateOf(handle)).toMatchObject({ receipt, reads: 1 });
  });

  it.each([
    ['an unknown field', 'unknown field "poll"', { poll: 5 } as never],
    ['another order', 'workflow id', { orderId: toOrderId('another') }],
  ])('fails at once when it is given %s, and names it', async (_, named, input) => {
    await refusesInput((await reported({ input })).result(), named);
  });
});
