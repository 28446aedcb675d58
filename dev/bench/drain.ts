import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { IngressOptions } from './acknowledge.js';
import { arrivedAt } from './arrivals.js';
import { closedLoop } from './closed-loop.js';
import { openLanes } from './http-lanes.js';
import { type IngressSite, openSite } from './ingress-place.js';
import type { IngressProcess } from './ingress-process.js';
import type { Measure } from './report.js';
import { requestMaker } from './webhook-load.js';

const burst = 20_000;
const orders = 200;
const lanes = 256;
const bareSignals = 4_000;
const bareInFlight = 64;
const limitMs = 300_000;

interface DrainFigures {
  perSecond: number;
  barePerSecond: number;
  lost: number;
}

/** Sends a burst while Temporal is stopped, and starts Temporal again. Measures how fast the journal empties, and checks that all deliveries arrive. */
export async function benchDrain({ place, rounds, say }: IngressOptions): Promise<Measure[]> {
  const results: DrainFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`drain: round ${round + 1} of ${rounds}, about 60 s`);
    const site = await openSite(place);
    try {
      results.push(await drainOnce(site));
    } finally {
      await site.close();
    }
  }
  const rates = results.map(({ perSecond, barePerSecond }) => ({ faretrail: perSecond, plain: barePerSecond }));
  const lost = results.map((one) => ({ faretrail: one.lost, plain: Number.NaN }));
  return [
    {
      name: 'Temporal back, 20,000 deliveries in the journal: forwarded/s, beside the signals/s of a bare client',
      unit: '',
      better: 'higher',
      rounds: rates,
      goal: { text: 'at least 0.7 of it', of: 'factor', limit: 0.7 },
    },
    {
      name: 'acknowledged in that burst and not in Temporal afterwards',
      unit: '',
      better: 'lower',
      rounds: lost,
      goal: { text: 'none', of: 'value', limit: 0 },
    },
  ];
}

const orderNames = Array.from({ length: orders }, (_, index) => `order-${index}`);
const orderName = (index: number): string => `order-${index % orders}`;

async function drainOnce(site: IngressSite): Promise<DrainFigures> {
  for (let index = 0; index < orders; index += 1) await site.followOrder(orderName(index));
  const barePerSecond = await bareRate(site.client);
  const ingress = await site.startIngress();
  await sleep(500);
  await site.temporal.stop();
  await sendBurst(ingress);
  const held = await ingress.metric('faretrail_journal_deliveries');
  await site.temporal.start();
  const begin = performance.now();
  await untilEmpty(ingress);
  const perSecond = (held * 1_000) / (performance.now() - begin);
  await ingress.stop();
  return { perSecond, barePerSecond, lost: burst - new Set(await arrivedAt(site.client, orderNames)).size };
}

async function bareRate(client: Client): Promise<number> {
  const begin = performance.now();
  await closedLoop({ count: bareSignals, inFlight: bareInFlight, limitMs }, (index) =>
    client.workflow.getHandle(`order/business/${orderName(index)}`).signal('bareSignal'),
  );
  return (bareSignals * 1_000) / (performance.now() - begin);
}

async function sendBurst({ port }: IngressProcess): Promise<void> {
  const connections = await openLanes(port, lanes);
  const make = requestMaker(port);
  const answers = await closedLoop({ count: burst, inFlight: lanes, limitMs }, (index) =>
    connections.send(make(orderName(index), 'Driving')),
  );
  connections.close();
  const refused = answers.filter((status) => status !== 202).length;
  if (refused > 0) throw new Error(`${refused} deliveries of the burst were not acknowledged`);
}

async function untilEmpty(ingress: IngressProcess): Promise<void> {
  const deadline = Date.now() + limitMs;
  while ((await ingress.metric('faretrail_journal_deliveries')) > 0) {
    if (Date.now() > deadline) throw new Error('the journal did not empty');
    await sleep(100);
  }
}
