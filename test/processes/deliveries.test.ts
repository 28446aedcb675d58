import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toOrderId } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import type { CompanyReport } from '../../src/domain/report.js';
import { companyReportId, followOrderId, fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { reportStatusQuery } from '../../src/workflows/messages.js';
import { shows } from '../support/order/stack.js';
import { active, business, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const orders = 12;
const script: [status: string, afterMs: number][] = [
  ['Routing', 0],
  ['Confirmed', 1_500],
  ['Driving', 3_000],
  ['Transporting', 4_500],
  ['Completed', 6_000],
];
const statuses = script.map(([status]) => status);
const hour = '3600000';
const paces = {
  slow: { FARETRAIL_POLL_ACTIVE_MS: hour, FARETRAIL_POLL_RESERVED_MS: hour, FARETRAIL_POLL_PUSHED_MS: hour },
  fast: { FARETRAIL_POLL_ACTIVE_MS: '400', FARETRAIL_POLL_PUSHED_MS: '1200' },
};

/** What the sandbox gives for an order that was completed. */
const receipt = {
  payment_summary: { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
  calculation: { driving: 18.5, tolls: 1.5, tax: '2.00', tips: 0 },
};

/** Follows orders that go on to their next status once the one before was seen, however long that takes. */
async function followInStep({ fleet }: DeliveryScene): Promise<OrderTrail[]> {
  const [first = '', ...others] = statuses;
  const handles = await fleet.followOrders(orders, [[first, 0]], ['business']);
  const ends = handles.map(async (handle) => {
    const orderId = fromFollowOrderId(handle.workflowId)?.orderId ?? expect.fail(handle.workflowId);
    let last = first;
    for (const next of others) {
      await shows(handle, { status: last });
      fleet.sandbox.setStatus('business', orderId, next);
      last = next;
    }
    return await handle.result();
  });
  return await Promise.all(ends);
}
const known = (trail: OrderTrail) => [...new Set(trail.timeline.map(({ status }) => status))];

describe.concurrent('with polls an hour apart', () => {
  let scene: DeliveryScene;
  let url: string;
  beforeAll(async () => {
    scene = await openDeliveryScene(paces.slow);
    ({ url } = await scene.startIngress());
  });
  afterAll(() => scene.close());

  it.sequential('a report that is delivered leads to the receipt, and the same delivery again to nothing more than a read', async () => {
    const { sandbox, client } = scene.fleet;
    await active(await scene.subscribe('business_report', url));
    sandbox.setDeliverySettings({ reportWhenCompleted: true, duplicated: 1, delayUpToMs: 1_000 });
    const orderId = toOrderId(randomUUID());
    sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
    sandbox.setStatus('business', orderId, 'Completed');

    const run = client.workflow.getHandle(companyReportId({ account: business, about: orderId }));
    const report = (): Promise<CompanyReport> => run.query(reportStatusQuery);
    await expect.poll(() => report().catch(() => undefined)).toMatchObject({ deliveries: { received: 2 } });
    await expect.poll(report).toMatchObject({ receipt });
    const metrics = async () => await (await fetch(`${url}/metrics`)).text();
    await expect.poll(metrics).toContain('\nfaretrail_journal_deliveries 0\n'); // only an ingress with a journal has it
    await sleep(500); // for reads that should not be
    const forwarded = [...(await metrics()).matchAll(/^faretrail_forwarded_total\{.*\} (\d+)$/gm)];
    expect(forwarded.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(2);

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
    sandbox.setDeliverySettings({ reportWhenCompleted: false, duplicated: 0, delayUpToMs: 0 });
  });

  it.sequential('business orders are followed to their ends by deliveries alone', async () => {
    await active(await scene.subscribe('status_changed', url));
    for (const trail of await followInStep(scene)) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed' });
      expect(known(trail)).toEqual(statuses);
      // The last one may come after the read that it would have led to.
      expect(trail.deliveries.received).toBeGreaterThanOrEqual(statuses.length - 2);
    }
  });
});

describe.concurrent('with polls at a quick pace', () => {
  let scene: DeliveryScene;
  beforeAll(async () => {
    scene = await openDeliveryScene(paces.fast);
    await active(await scene.subscribe('status_changed', (await scene.startIngress()).url));
  });
  afterAll(() => scene.close());
  beforeEach(() => scene.fleet.sandbox.clearFaults());

  it.sequential('business orders are followed by polling alone while deliveries are switched off', async () => {
    scene.fleet.sandbox.setDeliverySettings({ enabled: false });
    for (const trail of await followInStep(scene)) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed', pushed: false });
      expect(known(trail)).toEqual(statuses);
      expect(trail.deliveries.received).toBe(0);
    }
  });

  it.sequential('and by both while deliveries are lost, repeated and late, and the service fails now and then', async () => {
    const { sandbox } = scene.fleet;
    sandbox.setDeliverySettings({ enabled: true, lost: 0.2, duplicated: 0.3, delayUpToMs: 800 });
    sandbox.setFault({ kind: 'serverError', operation: 'orderDetails', probability: 0.1 });
    sandbox.setFault({ kind: 'dropConnection', operation: 'orderDetails', probability: 0.05 });
    const handles = await scene.fleet.followOrders(orders, script, ['business']);
    await sleep(2_000);
    sandbox.revokeTokens();
    for (const trail of await Promise.all(handles.map((handle) => handle.result()))) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed' });
      expect(statuses).toEqual(expect.arrayContaining(known(trail)));
    }
  });
});
