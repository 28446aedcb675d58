import { afterAll, beforeAll, expect, it } from 'vitest';
import { fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { shows } from '../support/order/stack.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const orders = 12;
const statuses = ['Routing', 'Confirmed', 'Driving', 'Transporting', 'Completed'];
const hour = '3600000';
const slow = { FARETRAIL_POLL_ACTIVE_MS: hour, FARETRAIL_POLL_RESERVED_MS: hour, FARETRAIL_POLL_PUSHED_MS: hour };

let scene: DeliveryScene;
let url: string;
beforeAll(async () => {
  scene = await openDeliveryScene(slow);
  ({ url } = await scene.startIngress());
});
afterAll(() => scene.close());

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
