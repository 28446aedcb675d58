import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rotateSubscriptionUpdate } from '../../src/workflows/messages.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const orders = 50;
const floodMs = 8_000;
const everyMs = 20;

let scene: DeliveryScene;
let address: string;
let metrics: () => Promise<string>;
let rotate: () => Promise<unknown>;

beforeAll(async () => {
  // Orders ask for more reads than the budget allows, so that each read of an invented order costs one of a real order.
  scene = await openDeliveryScene({ FARETRAIL_POLL_ACTIVE_MS: '2000' }, 16);
  // Once a delivery has proved itself, nobody else's gets past the address: this is about the time before, or mode path.
  const { url } = await scene.startIngress({ verification: { mode: 'path' } });
  const handle = await scene.subscribe('status_changed', url);
  await active(handle);
  address = scene.fleet.sandbox.subscribers()[0]?.hookAddress ?? expect.fail('no subscriber');
  metrics = async () => await (await fetch(`${url}/metrics`)).text();
  rotate = () => handle.executeUpdate(rotateSubscriptionUpdate, { args: [{ graceMs: 0 }] });
});
afterAll(() => scene?.close());

const send = (body: object) => fetch(address, { method: 'POST', body: JSON.stringify(body) });
const post = async (orderId: string): Promise<number> =>
  (await send({ event_type: 'status_changed', order_id: orderId, status: 'Driving' })).status;

/** Sends deliveries about orders that do not exist, until it is stopped. Counts the answers. */
function startFlood() {
  const answers = new Map<number, number>();
  const sendOne = async () => {
    const status = await post(randomUUID());
    answers.set(status, (answers.get(status) ?? 0) + 1);
  };
  const timer = setInterval(() => void sendOne().catch(() => undefined), everyMs);
  return { answers, stop: () => clearInterval(timer) };
}

const runs = async (): Promise<number> => {
  const query = `TaskQueue = '${scene.fleet.env.FARETRAIL_TASK_QUEUE}' AND WorkflowType = 'followOrder'`;
  return (await scene.fleet.client.workflow.count(query)).count;
};

it('a leaked address starts few runs, a real delivery still reaches its order, and a rotation ends the flood', async () => {
  const handles = await scene.fleet.followOrders(orders, [['Driving', 0]], ['business']);
  const flood = startFlood();
  await sleep(floodMs);
  const waiting = /^faretrail_held_deliveries\{account="business",reason="newOrders"\} (\d+)$/m;
  await expect.poll(metrics).toMatch(waiting);
  await expect.poll(runs).toBeGreaterThan(orders);
  const newRuns = (await runs()) - orders;
  const held = Number(waiting.exec(await metrics())?.[1]);

  const [real] = handles;
  expect(await post(real?.workflowId.split('/')[2] ?? '')).toBe(202);
  const deliveries = async () => (await real?.query<{ deliveries: object }, []>('orderTrail'))?.deliveries;
  await expect.poll(deliveries).toMatchObject({ received: 1 });

  await rotate();
  const rotatedAt = Date.now();
  while ((await post(randomUUID())) !== 401) await sleep(50);
  const endedAfterMs = Date.now() - rotatedAt;
  flood.stop();

  console.log(
    `${newRuns} new runs; ${held} deliveries held; ended after ${endedAfterMs} ms; answers ${JSON.stringify([...flood.answers])}`,
  );
  expect(newRuns).toBeGreaterThan(0);
  expect(newRuns).toBeLessThanOrEqual(200);
  expect(held).toBeGreaterThan(0);
  await Promise.all(handles.map((handle) => handle.terminate()));
}, 600_000);
