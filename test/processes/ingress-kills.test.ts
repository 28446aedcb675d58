import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { arrivedAt } from '../../dev/bench/arrivals.js';
import type { IngressProcess } from '../../dev/bench/ingress-process.js';
import { openSite, type Site } from '../../dev/bench/site.js';
import { webhookPath } from '../../dev/bench/webhook-load.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { isLong } from '../support/long.js';
import { createRandom } from '../support/random.js';

const random = createRandom();

const size = isLong
  ? { deliveries: 100_000, kills: 20, outages: 2, outageMs: 5_000 }
  : { deliveries: 2_000, kills: 3, outages: 1, outageMs: 1_500 };
const orderIds = Array.from({ length: 100 }, (_, index) => `crash-${index}`);
const senders = 64;

const folder = mkdtempSync(join(tmpdir(), 'faretrail-kills-'));
let site: Site;
beforeAll(async () => {
  site = await openSite({ folder, temporal: { program: inject('temporalProgram') } });
  for (const orderId of orderIds) await site.followOrder(orderId);
});
afterAll(() => site.close());

/** The deliveries that the ingress acknowledged, by the id in its answer. */
const acknowledged = new Set<string>();
let next = 0;
let repeats = 0;

/** Sends as the service may: again what was not acknowledged, and only that. */
async function sendAll(url: string): Promise<void> {
  while (next < size.deliveries) {
    const sequence = next;
    next += 1;
    const body = JSON.stringify({ order_id: orderIds[sequence % orderIds.length], status: 'Driving', sequence });
    let deliveryId = await post(url, body);
    for (; deliveryId === undefined; repeats += 1) {
      await sleep(20);
      deliveryId = await post(url, body);
    }
    acknowledged.add(deliveryId);
  }
}

async function post(url: string, body: string): Promise<string | undefined> {
  try {
    const reply = await request(url, { method: 'POST', body });
    const answer = (await reply.body.json()) as { deliveryId?: string };
    return reply.statusCode === 202 ? answer.deliveryId : undefined;
  } catch {
    return undefined; // killed meanwhile
  }
}

/** Does something so many times while deliveries are sent, at random. */
async function atRandom(times: number, act: () => Promise<unknown>): Promise<void> {
  const instants = Array.from({ length: times }, () => random() * 0.9 * size.deliveries).sort((a, b) => a - b);
  for (const count of instants) {
    while (acknowledged.size < count) await sleep(2);
    await act();
  }
}

it('no acknowledged delivery is lost, however often the ingress is killed and Temporal stops', {
  timeout: isLong ? 900_000 : 300_000,
}, async () => {
  const settings = { FARETRAIL_JOURNAL_DIR: join(folder, 'journal') };
  const port = await freePort();
  let ingress: IngressProcess = await site.startIngress(settings, port);
  const url = `http://127.0.0.1:${port}${webhookPath}`;

  const kills = atRandom(size.kills, async () => {
    await sleep(random() * 50);
    await ingress.kill();
    ingress = await site.startIngress(settings, port);
  });
  const outages = atRandom(size.outages, async () => {
    await site.temporal.stop();
    await sleep(size.outageMs);
    await site.temporal.start();
  });
  await Promise.all([...Array.from({ length: senders }, () => sendAll(url)), kills, outages]);
  expect(acknowledged.size).toBe(size.deliveries);
  await expect.poll(() => ingress.metric('faretrail_journal_deliveries'), { timeout: 300_000, interval: 200 }).toBe(0);
  await ingress.stop();

  const arrived = await arrivedAt(site.client, orderIds);
  const ids = new Set(arrived);
  const lost = [...acknowledged].filter((id) => !ids.has(id));
  console.log(
    `${acknowledged.size} acknowledged, ${size.kills} kills, ${size.outages} outages of Temporal: ` +
      `${lost.length} lost, ${arrived.length - ids.size} forwarded twice, ${repeats} sent again`,
  );
  expect(lost).toEqual([]);
});
