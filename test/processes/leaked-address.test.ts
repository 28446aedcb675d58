import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { discardDeliveryUpdate, rotateSubscriptionUpdate } from '../../src/workflows/messages.js';
import { isLong } from '../support/long.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const orders = 50;
const perSecond = 16;
/** An order that stays as it is gets fewer reads from two minutes on. So each round has new orders. */
const roundMs = isLong ? 90_000 : 8_000;
/** Ages of reads that are measured for seconds, beside other tests, show nothing: the short form compares none. */
const rounds = isLong ? { calm: 2, flood: 6 } : { calm: 0, flood: 1 };
/** Also for what the orders of the round before have left in the queue. */
const settleMs = isLong ? 20_000 : 5_000;
const everyMs = 20;

let scene: DeliveryScene;
let address: string;
let metrics: () => Promise<string>;
let rotate: () => Promise<unknown>;

beforeAll(async () => {
  // Orders ask for more reads than the budget allows, so that each read of an invented order costs one of a real order.
  scene = await openDeliveryScene({ FARETRAIL_POLL_ACTIVE_MS: '2000', FARETRAIL_PARKED_AT_MOST: '3' }, perSecond);
  const { url } = await scene.startIngress();
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

/** The greatest age of the last read of these orders, over this time. */
async function oldestReadMs(ids: ReadonlySet<string>, overMs: number): Promise<number> {
  const until = Date.now() + overMs;
  const lastReads = new Map<string, number>();
  let oldest = 0;
  let from = Date.now() - 30_000;
  while (Date.now() < until) {
    const now = Date.now();
    const since = new Date(from).toISOString();
    from = now - 1_000;
    for (const { orderId = '', at } of scene.fleet.sandbox.ledger({ operation: 'orderDetails', since }))
      if (ids.has(orderId)) lastReads.set(orderId, Date.parse(at));
    oldest = Math.max(oldest, ...[...lastReads.values()].map((at) => now - at));
    await sleep(250);
  }
  expect(lastReads.size).toBe(ids.size);
  return oldest;
}

/** Follows real orders for some rounds. Gives the greatest age of the last read of one, and the orders of the last round. */
async function followRounds(count: number) {
  let oldest = 0;
  for (let round = 1; ; round += 1) {
    const handles = await scene.fleet.followOrders(orders, [['Driving', 0]], ['business']);
    await sleep(settleMs);
    const ids = handles.map(({ workflowId }) => workflowId.split('/')[2] ?? '');
    oldest = Math.max(oldest, await oldestReadMs(new Set(ids), roundMs));
    if (round === count) return { oldest, handles, ids };
    await Promise.all(handles.map((handle) => handle.terminate()));
  }
}

const runs = async (): Promise<number> => {
  const query = `TaskQueue = '${scene.fleet.env.FARETRAIL_TASK_QUEUE}' AND WorkflowType = 'followOrder'`;
  return (await scene.fleet.client.workflow.count(query)).count;
};

it('an account has so many parked deliveries, further ones get 429, and those about orders pass', async () => {
  const sendLost = () => send({ event_type: 'status_changed', note: randomUUID() });
  const query = "WorkflowType = 'parkedDelivery' AND ExecutionStatus = 'Running'";
  const parked = async (): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { workflowId } of scene.fleet.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  };
  for (let n = 0; n < 3; n += 1) expect((await sendLost()).status).toBe(202);
  await expect.poll(async () => (await parked()).length).toBe(3);
  const refused = await sendLost();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600']);
  expect(await metrics()).toContain('event_type="status_changed",outcome="tooManyParked"} 1\n');
  expect(await parked()).toHaveLength(3);
  expect(await post(scene.newOrder('Driving'))).toBe(202);
  await expect.poll(metrics).toMatch(/faretrail_forwarded_total\{.*outcome="started"\} 1\n/);

  const handle = scene.fleet.client.workflow.getHandle((await parked())[0] ?? '');
  await handle.executeUpdate(discardDeliveryUpdate, { args: [{ reason: 'a test' }] });
  await expect.poll(async () => (await sendLost()).status, { timeout: 30_000, interval: 1_000 }).toBe(202);
});

it(
  'a leaked address slows real orders little, starts few runs, and a rotation ends it within 2 s',
  async () => {
    const calm = rounds.calm > 0 ? await followRounds(rounds.calm) : null;
    await Promise.all(calm?.handles.map((handle) => handle.terminate()) ?? []);

    const flood = startFlood();
    const { oldest: during, handles, ids } = await followRounds(rounds.flood);
    const newRuns = (await runs()) - orders * (rounds.calm + rounds.flood);
    const held = /^faretrail_held_deliveries\{account="business",reason="newOrders"\} (\d+)$/m.exec(
      await metrics(),
    )?.[1];

    const [real = ''] = ids;
    expect(await post(real)).toBe(202);
    await expect
      .poll(async () => (await handles[0]?.query<{ deliveries: object }, []>('orderTrail'))?.deliveries)
      .toMatchObject({ received: 1 });

    await rotate();
    const rotatedAt = Date.now();
    while ((await post(randomUUID())) !== 401) await sleep(50);
    const endedAfterMs = Date.now() - rotatedAt;
    flood.stop();

    console.log(
      `oldest read ${during} ms, without the flood ${calm?.oldest} ms; ${newRuns} new runs; ${held} deliveries held; ended after ${endedAfterMs} ms; answers ${JSON.stringify([...flood.answers])}`,
    );
    expect(newRuns).toBeGreaterThan(0);
    expect(newRuns).toBeLessThanOrEqual(200);
    if (calm) expect(during).toBeLessThanOrEqual(1.5 * calm.oldest);
    expect(endedAfterMs).toBeLessThan(2_000);
    expect(Number(held)).toBeGreaterThan(0);
  },
  (rounds.calm + rounds.flood) * (roundMs + settleMs) + 160_000,
);
