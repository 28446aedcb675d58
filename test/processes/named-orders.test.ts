import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { goesOn, namesRequestIds, ordersOf, requestedRide, requestIdPointers, stands } from '../support/ride/rides.js';
import { eventsOf, pendingOf } from '../support/runs.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

// A worker and an ingress as they are deployed: the service's deliveries lead a ride to the order of which it lost the answer.

const patient = { timeout: 60_000, interval: 100 };
let scene: DeliveryScene;
beforeAll(async () => {
  scene = await openDeliveryScene(namesRequestIds);
  const { url } = await scene.startIngress({}, requestIdPointers);
  scene.fleet.sandbox.setBookingSettings({ requestIdIn: ['details', 'deliveries'], script: goesOn });
  await active(await scene.subscribe('status_changed', url));
});
afterAll(() => scene.close());

async function lost(announces: boolean) {
  const { sandbox, place } = scene.fleet;
  sandbox.setDeliverySettings({ enabled: announces });
  sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
  const ride = await requestedRide(place);
  await vi.waitFor(() => expect(ordersOf(scene.fleet, ride.requestId)).toHaveLength(1), patient);
  return { ...ride, orderId: ordersOf(scene.fleet, ride.requestId)[0]?.orderId };
}

it('a delivery of the service brings the ride its order, without a person and without a second order', async () => {
  const { handle, requestId, orderId } = await lost(true);
  await stands(handle, { stage: 'following', orderId, attention: null });
  await handle.executeUpdate('cancelRide');
  expect(await handle.result()).toMatchObject({ orderId, outcome: 'cancelled' });
  expect(ordersOf(scene.fleet, requestId)).toHaveLength(1);
});

it('a forged delivery brings a ride no order, and no delivery is held up', async () => {
  const { sandbox } = scene.fleet;
  const { handle, requestId } = await lost(false);
  await stands(handle, { attention: { code: 'outcomeUnknown' } });
  const strangers = scene.newOrder('Driving');
  const body = { event_type: 'status_changed', order_id: strangers, status: 'Driving' };
  const [subscriber] = sandbox.subscribers();
  for (const request_id of [`ride.business.${requestId}`, `ride.other.${requestId}`, 'ride.business.nobody']) {
    const delivery = { method: 'POST', body: JSON.stringify({ ...body, request_id }) };
    expect(await fetch(subscriber?.hookAddress ?? '', delivery)).toMatchObject({ status: 202 });
  }
  const trail = scene.fleet.client.workflow.getHandle(`order/business/${strangers}`);
  const taken = async () => expect(await trail.query('orderTrail')).toMatchObject({ deliveries: { received: 3 } });
  await vi.waitFor(taken, patient);
  const isRead = async () => {
    expect(JSON.stringify(await eventsOf(handle))).toContain('confirmOrder');
    expect(await pendingOf(handle)).toEqual([]);
  };
  await vi.waitFor(isRead, patient);
  await stands(handle, { stage: 'requesting', orderId: null, attention: { code: 'outcomeUnknown' } });
  await handle.executeUpdate('resolveRide', { args: [{ giveUp: true, reason: 'forged' }] });
});
