import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop } from './closed-loop.js';
import { openLanes } from './http-lanes.js';
import { type IngressPlace, openSite } from './ingress-place.js';
import type { IngressKind, IngressProcess } from './ingress-process.js';
import { openLoad, quantile } from './open-load.js';
import type { Measure } from './report.js';
import { requestMaker } from './webhook-load.js';

export interface IngressOptions {
  place: IngressPlace;
  rounds: number;
  /** How long each load on a schedule lasts. */
  seconds: number;
  /** Announced status changes of all orders together. Default: 20. */
  changesPerSecond?: number;
  say: (line: string) => void;
}

interface AckFigures {
  perSecond: number;
  p50: number;
  p99: number;
}

const lanes = 64;
const orders = 200;
const openPerSecond = 5_000;
const closedMs = 8_000;
/** By then the ingress wants to read again what the subscription accepts. The first delivery after that waits once, up to two seconds. */
const staleMs = 2_000;
/** More than our machines send in that time. */
const endless = 1_000_000;

/** Measures only the way to a 2xx: Temporal is stopped, and the journal takes all deliveries. The bare route takes turns with it. */
export async function benchAcknowledge({ place, rounds, seconds, say }: IngressOptions): Promise<Measure[]> {
  const site = await openSite(place);
  const results: Record<IngressKind, AckFigures>[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const figures: Partial<Record<IngressKind, AckFigures>> = {};
      const order: IngressKind[] = round % 2 === 0 ? ['faretrail', 'bare'] : ['bare', 'faretrail'];
      for (const kind of order) {
        say(`acknowledge: ${kind}, round ${round + 1} of ${rounds}, about ${closedMs / 1_000 + seconds + 5} s`);
        const ingress = kind === 'bare' ? await site.startBare() : await site.startIngress();
        if (kind === 'faretrail') await warm(ingress, site);
        figures[kind] = await measure(ingress, seconds);
        await ingress.stop();
        if (kind === 'faretrail') await site.temporal.start();
      }
      results.push(figures as Record<IngressKind, AckFigures>);
    }
  } finally {
    await site.close();
  }
  return toMeasures(results, seconds);
}

/** Lets the ingress read what the subscription accepts, and then stops Temporal. */
async function warm(ingress: IngressProcess, { temporal }: Awaited<ReturnType<typeof openSite>>): Promise<void> {
  const connections = await openLanes(ingress.port, 1);
  const make = requestMaker(ingress.port);
  await connections.send(make('warm', 'Driving'));
  await temporal.stop();
  await sleep(staleMs);
  await connections.send(make('warm', 'Waiting'));
  connections.close();
}

async function measure({ port }: IngressProcess, seconds: number): Promise<AckFigures> {
  const connections = await openLanes(port, lanes);
  const make = requestMaker(port);
  const send = async (index: number): Promise<number> => {
    const status = await connections.send(make(`order-${index % orders}`, 'Driving'));
    if (status !== 202) throw new Error(`a delivery was answered with ${status}`);
    return status;
  };
  const begin = performance.now();
  const sent = await closedLoop({ count: endless, inFlight: lanes, limitMs: closedMs }, send);
  const perSecond = (sent.length * 1_000) / (performance.now() - begin);
  const { latencies } = await openLoad({ perSecond: openPerSecond, seconds }, send);
  connections.close();
  return { perSecond, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function toMeasures(results: readonly Record<IngressKind, AckFigures>[], seconds: number): Measure[] {
  const rounds = (key: keyof AckFigures) =>
    results.map(({ faretrail, bare }) => ({ faretrail: faretrail[key], plain: bare[key] }));
  const open = `Temporal stopped, 5,000/s for ${seconds} s: until the 2xx`;
  return [
    {
      name: 'Temporal stopped, 64 connections: deliveries/s, beside a bare route',
      unit: '',
      better: 'higher',
      rounds: rounds('perSecond'),
      goal: { text: 'at least 0.7 of it', of: 'factor', limit: 0.7 },
    },
    { name: `${open}, p50`, unit: 'ms', better: 'lower', rounds: rounds('p50') },
    {
      name: `${open}, p99`,
      unit: 'ms',
      better: 'lower',
      rounds: rounds('p99'),
      goal: { text: 'at most 10 ms', of: 'value', limit: 10 },
    },
  ];
}
