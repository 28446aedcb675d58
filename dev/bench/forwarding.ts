import { setTimeout as sleep } from 'node:timers/promises';
import type { IngressOptions } from './acknowledge.js';
import { openLoad, quantile } from './open-load.js';
import { alone, atMost, type Measure } from './report.js';
import { repeat } from './rounds.js';
import { openSite, type Site } from './site.js';
import { openDoor } from './webhook-load.js';

const orders = 200;
const perSecond = 300;
const lanes = 64;
/** The requests in flight at any moment: the arrivals of a tenth of a second. */
const restingDepth = perSecond / 10;

interface ForwardFigures {
  p50: number;
  p99: number;
  depth: number;
}

/** Measures while Temporal is up and the ingress forwards on the same cores, with the journal and without it. */
export async function benchForwarding({ place, seconds, ...asked }: IngressOptions): Promise<Measure[]> {
  const about = `forwarding, journal on, then off, about ${2 * seconds + 5} s`;
  const results = await repeat(asked, about, async () => {
    const site = await openSite(place);
    try {
      for (let index = 0; index < orders; index += 1) await site.followOrder(`order-${index}`);
      const on = await forward(site, seconds, {});
      return { on, off: await forward(site, seconds, { FARETRAIL_JOURNAL_DIR: 'off' }) };
    } finally {
      await site.close();
    }
  });
  const rounds = (key: keyof ForwardFigures) => results.map(({ on, off }) => ({ faretrail: on[key], plain: off[key] }));
  const name = `Temporal up, ${perSecond}/s for ${seconds} s, beside the journal switched off`;
  const depth = alone(results.map(({ on }) => on.depth));
  return [
    { name: `${name}: p50`, unit: 'ms', better: 'lower', rounds: rounds('p50'), ...atMost(5, 'ms') },
    { name: `${name}: p99`, unit: 'ms', better: 'lower', rounds: rounds('p99'), ...atMost(50, 'ms') },
    {
      ...{ name: 'deliveries in the journal when that ends', unit: '', better: 'lower', rounds: depth },
      ...atMost(restingDepth),
    },
  ];
}

async function forward(site: Site, seconds: number, more: Record<string, string>): Promise<ForwardFigures> {
  const door = await openDoor(site.startIngress(more), lanes);
  await sleep(500);
  try {
    const send = (index: number) => door.deliver(`order-${index % orders}`, 'Driving');
    const { latencies, statuses } = await openLoad({ perSecond, seconds }, send);
    const depth = await door.ingress.metric('faretrail_journal_deliveries');
    if ([...statuses.keys()].some((status) => status !== 202)) throw new Error('a delivery was not acknowledged');
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), depth };
  } finally {
    await door.close();
  }
}
