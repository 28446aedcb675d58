import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type OrderId, toOrderId } from '../../src/domain/keys.js';
import type { EventType } from '../../src/domain/subscription/subscription.js';
import { companyReportId, followOrderId } from '../../src/domain/workflow-ids.js';
import type { followOrder } from '../../src/workflows/order/follow-order.js';
import { isLong } from '../support/long.js';
import { active, business, type DeliveryScene, openDeliveryScene, type SubscriptionHandle } from './delivery-scene.js';

/** A dead worker is noticed when the time of its request is over (70 s), and the next request waits two seconds more. */
const noticedWithinMs = 80_000;

let scene: DeliveryScene;
let subscriptions: SubscriptionHandle[];
beforeAll(async () => {
  scene = await openDeliveryScene();
  const { sandbox } = scene.fleet;
  sandbox.setDeliverySettings({
    reportWhenCompleted: true,
    secret: { mode: 'body' },
    retryDelaysMs: Array.from({ length: 20 }, () => 5_000),
  });
  const byPath = await scene.startIngress();
  const bySecret = await scene.startIngress({ verification: { mode: 'body', pointer: '/secret_id' } });
  // Both are carried out at once, and the answers are still on their way when the worker dies.
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
  const orderId = toOrderId(randomUUID());
  scene.fleet.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
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

// Most of it is waiting for a dead worker to be noticed, so it belongs to the long tests.
it.runIf(isLong)(
  'subscribing outlives kill -9 of the worker that asked, and what goes to the lost addresses is not refused',
  async () => {
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
  },
  100_000,
);
