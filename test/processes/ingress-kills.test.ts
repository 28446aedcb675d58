import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { arrivedAt } from '../../bench/arrivals.js';
import { type IngressSite, openSite } from '../../bench/ingress-place.js';
import type { IngressProcess } from '../../bench/ingress-process.js';
import { webhookPath } from '../../bench/webhook-load.js';
import { freePort } from '../../local/temporal/free-port.js';
import { isLong } from '../support/long.js';

const size = isLong
  ? { deliveries: 100_000, kills: 20, outages: 2, outageMs: 5_000 }
  : { deliveries: 6_000, kills: 5, outages: 1, outageMs: 1_500 };
const orderIds = Array.from({ length: 100 }, (_, index) => `crash-${index}`);
const senders = 64;

let folder: string;
let site: IngressSite;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'faretrail-kills-'));
  site = await openSite({ folder, temporal: { program: inject('temporalProgram') } });
  for (const orderId of orderIds) await site.followOrder(orderId);
});
afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What was acknowledged, by the id in the answer. */
interface Sending {
  next: number;
  acknowledged: Set<string>;
  repeats: number;
}

/** A sender as the service may be one: what was not acknowledged is sent again, and only that. */
async function sendAll(url: string, sending: Sending): Promise<void> {
  while (sending.next < size.deliveries) {
    const index = sending.next;
    sending.next += 1;
    const body = JSON.stringify({ order_id: orderIds[index % orderIds.length], status: 'Driving', sequence: index });
    for (let deliveryId: string | undefined; ; sending.repeats += 1) {
      deliveryId = await post(url, body);
      if (deliveryId !== undefined) {
        sending.acknowledged.add(deliveryId);
        break;
      }
      await sleep(20);
    }
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

/** Instants as counts of what has been sent, at random but in order. */
const instants = (count: number): number[] =>
  Array.from({ length: count }, () => Math.random() * 0.9 * size.deliveries).sort((a, b) => a - b);

async function reached(sending: Sending, count: number): Promise<void> {
  while (sending.acknowledged.size < count) await sleep(2);
}

it('loses no acknowledged delivery, however often the ingress is killed and Temporal stops', {
  timeout: isLong ? 900_000 : 300_000,
}, async () => {
  const settings = { FARETRAIL_JOURNAL_DIR: join(folder, 'journal') };
  const port = await freePort();
  let ingress: IngressProcess = await site.startIngress(settings, port);
  const sending: Sending = { next: 0, acknowledged: new Set(), repeats: 0 };
  const url = `http://127.0.0.1:${port}${webhookPath}`;

  async function kill(): Promise<void> {
    for (const instant of instants(size.kills)) {
      await reached(sending, instant);
      await sleep(Math.random() * 50);
      await ingress.kill();
      ingress = await site.startIngress(settings, port);
    }
  }
  async function interrupt(): Promise<void> {
    for (const instant of instants(size.outages)) {
      await reached(sending, instant);
      await site.temporal.stop();
      await sleep(size.outageMs);
      await site.temporal.start();
    }
  }

  const senderLoops = Array.from({ length: senders }, () => sendAll(url, sending));
  await Promise.all([...senderLoops, kill(), interrupt()]);
  expect(sending.acknowledged.size).toBe(size.deliveries);
  await expect.poll(() => ingress.metric('faretrail_journal_deliveries'), { timeout: 120_000, interval: 200 }).toBe(0);
  await ingress.stop();

  const arrived = await arrivedAt(site.client, orderIds);
  const ids = new Set(arrived);
  const lost = [...sending.acknowledged].filter((id) => !ids.has(id));
  console.log(
    `${sending.acknowledged.size} acknowledged, ${size.kills} kills, ${size.outages} outages of Temporal: ` +
      `${lost.length} lost, ${arrived.length - ids.size} forwarded twice, ${sending.repeats} sent again`,
  );
  expect(lost).toEqual([]);
});
