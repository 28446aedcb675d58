import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CompanyReport } from '../../src/domain/report.js';
import { companyReportId, followOrderId, fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { reportStatusQuery } from '../../src/workflows/messages.js';
import { shows } from '../support/order/stack.js';
import { active, business, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const orders = 12;
const statuses = ['Routing', 'Confirmed', 'Driving', 'Transporting', 'Completed'];
const hour = '3600000';
const slow = { FARETRAIL_POLL_ACTIVE_MS: hour, FARETRAIL_POLL_RESERVED_MS: hour, FARETRAIL_POLL_PUSHED_MS: hour };

/** What the sandbox gives for an order that was completed. */
const receipt = {
  payment_summary: { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
  calculation: { driving: 18.5, tolls: 1.5, tax: '2.00', tips: 0 },
};

let scene: DeliveryScene;
let url: string;
beforeAll(async () => {
  scene = await openDeliveryScene(slow);
  ({ url } = await scene.startIngress());
});
afterAll(() => scene.close());

it('a delivered report leads to the receipt, and the same delivery again to one more read at most', async () => {
  const { sandbox, client } = scene.fleet;
  await active(await scene.subscribe('business_report', url));
  sandbox.setDeliverySettings({ reportWhenCompleted: true, duplicated: 1, delayUpToMs: 1_000 });
  const orderId = scene.newOrder('Driving');
  sandbox.setStatus('business', orderId, 'Completed');

  const run = client.workflow.getHandle(companyReportId({ account: business, about: orderId }));
  const report = (): Promise<CompanyReport> => run.query(reportStatusQuery);
  await expect.poll(() => report().catch(() => undefined)).toMatchObject({ deliveries: { received: 2 }, receipt });
  const metrics = async () => await (await fetch(`${url}/metrics`)).text();
  await expect.poll(metrics).toContain('\nfaretrail_journal_deliveries 0\n'); // only an ingress with a journal has it
  await sleep(500); // for reads that should not be
  const forwarded = [...(await metrics()).matchAll(/^faretrail_forwarded_total\{.*\} (\d+)$/gm)];
  expect(forwarded.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(2);

  const sent = sandbox.deliveries({ orderId });
  const { delivery, at: sentAt } = sent[0] ?? expect.fail('nothing was delivered');
  const once = { eventType: 'business_report', cause: 'change', answer: 202, delivery };
  expect(sent).toMatchObject([once, once]);
  const told = await report();
  expect(told).toMatchObject({ account: business, orderId, attention: null });
  expect(told.deliveries).toMatchObject({ received: 2, duplicate: 1 });
  expect(told.reports).toMatchObject([{ deliveryId: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
  expect(told.receipt, 'as the service gives it').toEqual(receipt);

  const finance = sandbox.ledger({ operation: 'businessToken' }).filter(({ scope }) => scope === 'finance');
  expect(finance).toMatchObject([{ httpStatus: 200 }]);
  const calls = sandbox.ledger({ orderId });
  expect(calls.length).toBeOneOf([1, 2]);
  for (const call of calls) {
    expect(call).toMatchObject({ operation: 'orderReceipt', httpStatus: 200, scope: 'finance' });
    expect(call.tokenNumber).toBe(finance[0]?.tokenNumber);
    expect(call.at >= sentAt).toBe(true);
  }
  const follower = client.workflow.getHandle(followOrderId({ account: business, orderId }));
  await expect(follower.describe(), 'a report starts no run that follows the order').rejects.toThrow();
  sandbox.setDeliverySettings({ reportWhenCompleted: false, duplicated: 0, delayUpToMs: 0 });
});

it('business orders are followed to their ends by deliveries alone', async () => {
  await active(await scene.subscribe('status_changed', url));
  const [first = '', ...others] = statuses;
  const handles = await scene.fleet.followOrders(orders, [[first, 0]], ['business']);
  const ends = handles.map(async (handle) => {
    const orderId = fromFollowOrderId(handle.workflowId)?.orderId ?? expect.fail(handle.workflowId);
    let last = first;
    for (const next of others) {
      await shows(handle, { status: last });
      scene.fleet.sandbox.setStatus('business', orderId, next);
      last = next;
    }
    return await handle.result();
  });
  for (const trail of await Promise.all(ends)) {
    expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed' });
    expect([...new Set(trail.timeline.map(({ status }) => status))]).toEqual(statuses);
    // The last one may come after the read that it would have led to.
    expect(trail.deliveries.received).toBeGreaterThanOrEqual(statuses.length - 2);
  }
});
