import { afterAll, beforeAll, expect, it } from 'vitest';
import { discardDeliveryUpdate } from '../../src/workflows/messages.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

let scene: DeliveryScene;
let address: string;
let metrics: () => Promise<string>;
beforeAll(async () => {
  scene = await openDeliveryScene({ FARETRAIL_PARKED_AT_MOST: '3' });
  const { url } = await scene.startIngress();
  await active(await scene.subscribe('status_changed', url));
  address = scene.fleet.sandbox.subscribers()[0]?.hookAddress ?? expect.fail('no subscriber');
  metrics = async () => await (await fetch(`${url}/metrics`)).text();
});
afterAll(() => scene?.close());

const post = (body: object) => fetch(address, { method: 'POST', body: JSON.stringify(body) });
let sent = 0;
const postLost = async (): Promise<Response> => {
  sent += 1;
  return await post({ event_type: 'status_changed', note: sent });
};
const parked = async (): Promise<string[]> => {
  const query = "WorkflowType = 'parkedDelivery' AND ExecutionStatus = 'Running'";
  const ids: string[] = [];
  for await (const { workflowId } of scene.fleet.client.workflow.list({ query })) ids.push(workflowId);
  return ids;
};

it('an account has so many parked deliveries, further ones get 429, and those about orders pass', async () => {
  for (let n = 0; n < 3; n += 1) expect((await postLost()).status).toBe(202);
  await expect.poll(async () => (await parked()).length).toBe(3);
  const refused = await postLost();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600']);
  expect(await metrics()).toContain('event_type="status_changed",outcome="tooManyParked"} 1\n');
  expect(await parked()).toHaveLength(3);

  const orderId = scene.newOrder('Driving');
  expect((await post({ event_type: 'status_changed', order_id: orderId, status: 'Driving' })).status).toBe(202);
  await expect.poll(metrics).toMatch(/faretrail_forwarded_total\{.*outcome="started"\} 1\n/);

  const [first = ''] = await parked();
  const handle = scene.fleet.client.workflow.getHandle(first);
  await handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason: 'a test' }] });
  await expect.poll(async () => (await postLost()).status, { timeout: 30_000, interval: 1_000 }).toBe(202);
});
