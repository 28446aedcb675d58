import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop } from './closed-loop.js';
import { type IngressKind, ingressKinds } from './ingress-process.js';
import { openLoad, quantile } from './open-load.js';
import { atLeastTimes, atMost, type Measure } from './report.js';
import { type Rounds, takeTurns } from './rounds.js';
import { type BenchPlace, openSite } from './site.js';
import { type Door, openDoor } from './webhook-load.js';

export interface IngressOptions extends Rounds {
  place: BenchPlace;
  /** How long each load on a schedule lasts. */
  seconds: number;
  /** Announced status changes of all orders together. Default: 20. */
  changesPerSecond?: number;
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
export async function benchAcknowledge({ place, seconds, ...asked }: IngressOptions): Promise<Measure[]> {
  const site = await openSite(place);
  const about = (kind: IngressKind) => `acknowledge, ${kind}, about ${closedMs / 1_000 + seconds + 5} s`;
  try {
    const results = await takeTurns(asked, ingressKinds, about, async (kind) => {
      const door = await openDoor(kind === 'bare' ? site.startBare() : site.startIngress(), lanes);
      if (kind === 'faretrail') {
        await door.deliver('warm', 'Driving'); // the ingress reads what the subscription accepts
        await site.temporal.stop();
        await sleep(staleMs);
        await door.deliver('warm', 'Waiting');
      }
      const figures = await measure(door, seconds);
      await door.close();
      if (kind === 'faretrail') await site.temporal.start();
      return figures;
    });
    return toMeasures(results, seconds);
  } finally {
    await site.close();
  }
}

async function measure({ deliver }: Door, seconds: number): Promise<AckFigures> {
  const send = async (index: number): Promise<number> => {
    const status = await deliver(`order-${index % orders}`, 'Driving');
    if (status !== 202) throw new Error(`a delivery was answered with ${status}`);
    return status;
  };
  const begin = performance.now();
  const sent = await closedLoop({ count: endless, inFlight: lanes, limitMs: closedMs }, send);
  const perSecond = (sent.length * 1_000) / (performance.now() - begin);
  const { latencies } = await openLoad({ perSecond: openPerSecond, seconds }, send);
  return { perSecond, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function toMeasures(results: readonly Record<IngressKind, AckFigures>[], seconds: number): Measure[] {
  const rounds = (key: keyof AckFigures) =>
    results.map(({ faretrail, bare }) => ({ faretrail: faretrail[key], plain: bare[key] }));
  const open = `Temporal stopped, 5,000/s for ${seconds} s: until the 2xx`;
  const name = 'Temporal stopped, 64 connections: deliveries/s, beside a bare route';
  return [
    { name, unit: '', better: 'higher', rounds: rounds('perSecond'), ...atLeastTimes(0.7) },
    { name: `${open}, p50`, unit: 'ms', better: 'lower', rounds: rounds('p50') },
    { name: `${open}, p99`, unit: 'ms', better: 'lower', rounds: rounds('p99'), ...atMost(10, 'ms') },
  ];
}
