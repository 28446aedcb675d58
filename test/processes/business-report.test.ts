import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toOrderId } from '../../src/domain/keys.js';
import type { CompanyReport } from '../../src/domain/report.js';
import { companyReportId, followOrderId } from '../../src/domain/workflow-ids.js';
import { reportStatusQuery } from '../../src/workflows/messages.js';
import { active, business, type DeliveryScene, openDeliveryScene, type ReachableIngress } from './delivery-scene.js';

let scene: DeliveryScene;
let ingress: ReachableIngress;
beforeAll(async () => {
  scene = await openDeliveryScene();
  ingress = await scene.startIngress();
  await active(await scene.subscribe('business_report', ingress.url));
});
afterAll(() => scene.close());

/** What the sandbox gives for an order that was completed. */
const receipt = {
  payment_summary: { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
  calculation: { driving: 18.5, tolls: 1.5, tax: '2.00', tips: 0 },
};

it('a report that is delivered leads to the receipt, and the same delivery again to nothing more than a read', async () => {
  const { sandbox, client } = scene.fleet;
  sandbox.setDeliverySettings({ reportWhenCompleted: true, duplicated: 1, delayUpToMs: 2_000 });
  const orderId = toOrderId(randomUUID());
  sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  sandbox.setStatus('business', orderId, 'Completed');

  const run = client.workflow.getHandle(companyReportId({ account: business, about: orderId }));
  const report = (): Promise<CompanyReport> => run.query(reportStatusQuery);
  await expect.poll(() => report().catch(() => undefined)).toMatchObject({ deliveries: { received: 2 } });
  await expect.poll(report).toMatchObject({ receipt });
  const metrics = async () => await (await fetch(`${ingress.url}/metrics`)).text();
  await expect.poll(metrics).toContain('\nfaretrail_journal_deliveries 0\n'); // only an ingress with a journal has it
  await sleep(500); // for reads that should not be
  expect(await ingress.metric('faretrail_forwarded_total')).toBe(2);

  const sent = sandbox.deliveries({ orderId });
  expect(sent).toMatchObject([
    { eventType: 'business_report', cause: 'change', answer: 202 },
    { eventType: 'business_report', cause: 'change', answer: 202 },
  ]);
  expect(new Set(sent.map(({ delivery }) => delivery)).size, 'one delivery, sent twice').toBe(1);
  const told = await report();
  expect(told).toMatchObject({
    account: business,
    orderId,
    deliveries: { received: 2, duplicate: 1 },
    attention: null,
  });
  expect(told).toMatchObject({ receipt, reports: [{ deliveryId: expect.stringMatching(/^[0-9a-f]{32}$/) }] });
  expect(told.receipt, 'as the service gives it').toEqual(receipt);

  const finance = sandbox.ledger({ operation: 'businessToken' }).filter(({ scope }) => scope === 'finance');
  expect(finance).toMatchObject([{ httpStatus: 200 }]);
  const calls = sandbox.ledger({ orderId });
  expect(calls.length).toBeOneOf([1, 2]);
  for (const call of calls) {
    expect(call).toMatchObject({ operation: 'orderReceipt', httpStatus: 200, scope: 'finance' });
    expect(call.tokenNumber).toBe(finance[0]?.tokenNumber);
    expect(call.at >= (sent[0]?.at ?? '')).toBe(true);
  }
  const follower = client.workflow.getHandle(followOrderId({ account: business, orderId }));
  await expect(follower.describe(), 'a report makes nobody follow the order').rejects.toThrow();
});
