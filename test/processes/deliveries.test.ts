import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OrderId } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import type { CompanyReport } from '../../src/domain/report.js';
import type { EventType } from '../../src/domain/subscription/subscription.js';
import { companyReportId, followOrderId, fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { reportStatusQuery } from '../../src/workflows/messages.js';
import type { followOrder } from '../../src/workflows/order/follow-order.js';
import { isLong } from '../support/long.js';
import { shows } from '../support/order/stack.js';
import { active, business, type DeliveryScene, openDeliveryScene, type SubscriptionHandle } from './delivery-scene.js';

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
const slow = { FARETRAIL_POLL_ACTIVE_MS: hour, FARETRAIL_POLL_RESERVED_MS: hour, FARETRAIL_POLL_PUSHED_MS: hour };

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
    scene = await openDeliveryScene(slow);
    ({ url } = await scene.startIngress());
  });
  afterAll(() => scene.close());

  it.sequential('a delivered report leads to the receipt, and the same delivery again to one more read at most', async () => {
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
    scene = await openDeliveryScene({ FARETRAIL_POLL_ACTIVE_MS: '400', FARETRAIL_POLL_PUSHED_MS: '1200' });
    await active(await scene.subscribe('status_changed', (await scene.startIngress()).url));
  });
  afterAll(() => scene.close());
  beforeEach(() => scene.fleet.sandbox.clearFaults());

  it.sequential('business orders are followed to their ends by polls alone while deliveries are switched off', async () => {
    scene.fleet.sandbox.setDeliverySettings({ enabled: false });
    for (const trail of await followInStep(scene)) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed', pushed: false });
      expect(known(trail)).toEqual(statuses);
      expect(trail.deliveries.received).toBe(0);
    }
  });

  it.sequential('business orders are followed to their ends while deliveries are lost, repeated and late, and reads fail', async () => {
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

// Most of it is waiting until the server notices a dead worker, so it belongs to the long tests.
describe.runIf(isLong)('with a worker that dies while it subscribes', () => {
  /** A dead worker is noticed when the time of its request is over (70 s), and the next request waits two seconds more. */
  const noticedWithinMs = 80_000;

  let scene: DeliveryScene;
  let subscriptions: SubscriptionHandle[];
  beforeAll(async () => {
    scene = await openDeliveryScene();
    const { sandbox } = scene.fleet;
    const retryDelaysMs = Array.from({ length: 20 }, () => 5_000);
    sandbox.setDeliverySettings({ reportWhenCompleted: true, secret: { mode: 'body' }, retryDelaysMs });
    const byPath = await scene.startIngress();
    const bySecret = await scene.startIngress({ verification: { mode: 'body', pointer: '/secret_id' } });
    // The service carries out both at once, and the answers are still on their way when the worker dies.
    sandbox.setFault({ kind: 'slow', operation: 'createSubscriber', delayMs: 15_000, times: 2 });
    subscriptions = await Promise.all([
      scene.subscribe('status_changed', byPath.url),
      scene.subscribe('business_report', bySecret.url),
    ]);
    await vi.waitFor(() => expect(sandbox.subscribers()).toHaveLength(2), { timeout: 10_000, interval: 20 });
  });
  afterAll(() => scene.close());

  /** An order that is completed now, which the sandbox tells to all of its subscribers. */
  function completeOrder(): OrderId {
    const orderId = scene.newOrder('Driving');
    scene.fleet.sandbox.setStatus('business', orderId, 'Completed');
    return orderId;
  }

  const answersTo = (orderId: OrderId, eventType: EventType) =>
    scene.fleet.sandbox.deliveries({ orderId, eventType }).map(({ answer }) => answer);

  async function expectArrived(orderId: OrderId): Promise<void> {
    const { workflow } = scene.fleet.client;
    const order = workflow.getHandle<typeof followOrder>(followOrderId({ account: business, orderId }));
    const { outcome, deliveries } = await order.result();
    expect(outcome).toBe('completed');
    expect(deliveries.received).toBeGreaterThanOrEqual(1);
    const report = workflow.getHandle(companyReportId({ account: business, about: orderId }));
    await expect
      .poll(() => report.query('reportStatus').catch(() => undefined))
      .toMatchObject({ orderId, receipt: { payment_summary: { total_inc_tax: '22.00' } } });
  }

  it('subscribing outlives kill -9 of the worker, and the ingress does not refuse deliveries to the lost addresses', async () => {
    const { sandbox, workers, addWorker } = scene.fleet;
    await workers.splice(0)[0]?.kill();
    await addWorker();
    const lost = sandbox.subscribers().map(({ id }) => id);

    const early = completeOrder();
    await expect.poll(() => answersTo(early, 'status_changed')).toEqual([202]);
    // Where the secret is checked, it may be on its way: the sender has to repeat.
    await expect.poll(() => answersTo(early, 'business_report')).toEqual([503]);

    const statuses = await Promise.all(subscriptions.map((handle) => active(handle, noticedWithinMs)));
    const later = completeOrder();
    await expect.poll(() => answersTo(later, 'status_changed'), { timeout: 5_000 }).toEqual([202, 202]);
    // The ingress may have looked at the subscription a second ago: then it has the sender repeat.
    const taken = () => answersTo(later, 'business_report').filter((answer) => answer === 202);
    await expect.poll(taken, { timeout: 10_000 }).toHaveLength(2);
    await expectArrived(later);
    await expectArrived(early);
    expect(new Set(answersTo(early, 'business_report'))).toEqual(new Set([503, 202]));

    for (const { generations } of statuses)
      expect(generations.map(({ state }) => state)).toEqual(['current', 'unclear']);
    expect(sandbox.subscribers().map(({ id }) => id)).toEqual([...lost, expect.any(String), expect.any(String)]);
    expect(sandbox.counts().byOperation.createSubscriber).toBe(4);
  }, 100_000);
});
