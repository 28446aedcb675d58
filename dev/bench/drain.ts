import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { until } from '../stack/run/until.js';
import type { IngressOptions } from './acknowledge.js';
import { arrivedAt } from './arrivals.js';
import { closedLoop } from './closed-loop.js';
import { alone, atLeastTimes, atMost, type Measure } from './report.js';
import { repeat } from './rounds.js';
import { openSite, type Site } from './site.js';
import { type Door, openDoor } from './webhook-load.js';

const burst = 20_000;
const orders = 200;
const lanes = 256;
const bareSignals = 4_000;
const bareInFlight = 64;
const limitMs = 300_000;

/** Sends a burst while Temporal is stopped, and starts Temporal again. Measures how fast the journal empties, and checks that all deliveries arrive. */
export async function benchDrain({ place, ...asked }: IngressOptions): Promise<Measure[]> {
  const results = await repeat(asked, 'drain, about 60 s', async () => {
    const site = await openSite(place);
    return await drainOnce(site).finally(site.close);
  });
  const name = 'Temporal back, 20,000 deliveries in the journal: forwarded/s, beside the signals/s of a bare client';
  const lost = 'acknowledged in that burst and not in Temporal afterwards';
  return [
    { name, unit: '', better: 'higher', rounds: results.map(({ rates }) => rates), ...atLeastTimes(0.7) },
    { name: lost, unit: '', better: 'lower', rounds: alone(results.map((one) => one.lost)), ...atMost(0) },
  ];
}

const orderNames = Array.from({ length: orders }, (_, index) => `order-${index}`);
const orderName = (index: number): string => `order-${index % orders}`;

async function drainOnce(site: Site) {
  for (const name of orderNames) await site.followOrder(name);
  const plain = await bareRate(site.client);
  const door = await openDoor(site.startIngress(), lanes);
  const inJournal = () => door.ingress.metric('faretrail_journal_deliveries');
  await sleep(500);
  await site.temporal.stop();
  await sendBurst(door);
  const held = await inJournal();
  await site.temporal.start();
  const begin = performance.now();
  await until('the journal did not empty', async () => (await inJournal()) === 0, { withinMs: limitMs, everyMs: 100 });
  const faretrail = (held * 1_000) / (performance.now() - begin);
  await door.close();
  return { rates: { faretrail, plain }, lost: burst - new Set(await arrivedAt(site.client, orderNames)).size };
}

async function bareRate(client: Client): Promise<number> {
  const begin = performance.now();
  await closedLoop({ count: bareSignals, inFlight: bareInFlight, limitMs }, (index) =>
    client.workflow.getHandle(`order/business/${orderName(index)}`).signal('bareSignal'),
  );
  return (bareSignals * 1_000) / (performance.now() - begin);
}

async function sendBurst({ deliver }: Door): Promise<void> {
  const loop = { count: burst, inFlight: lanes, limitMs };
  const answers = await closedLoop(loop, (index) => deliver(orderName(index), 'Driving'));
  const refused = answers.filter((status) => status !== 202).length;
  if (refused > 0) throw new Error(`${refused} deliveries of the burst were not acknowledged`);
}
