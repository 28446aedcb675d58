import { setTimeout as sleep } from 'node:timers/promises';
import type { IngressOptions } from './acknowledge.js';
import { openLanes } from './http-lanes.js';
import { type IngressSite, openSite } from './ingress-place.js';
import { openLoad, quantile } from './open-load.js';
import type { Measure } from './report.js';
import { requestMaker } from './webhook-load.js';

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
export async function benchForwarding({ place, rounds, seconds, say }: IngressOptions): Promise<Measure[]> {
  const results: { on: ForwardFigures; off: ForwardFigures }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const site = await openSite(place);
    try {
      for (let index = 0; index < orders; index += 1) await site.followOrder(`order-${index}`);
      say(`forwarding: journal on, then off, round ${round + 1} of ${rounds}, about ${2 * seconds + 5} s`);
      const on = await forward(site, seconds, {});
      const off = await forward(site, seconds, { FARETRAIL_JOURNAL_DIR: 'off' });
      results.push({ on, off });
    } finally {
      await site.close();
    }
  }
  const rounded = (key: keyof ForwardFigures) =>
    results.map(({ on, off }) => ({ faretrail: on[key], plain: off[key] }));
  const name = `Temporal up, ${perSecond}/s for ${seconds} s, beside the journal switched off`;
  const goal = (limit: number) => ({ text: `at most ${limit} ms`, of: 'value' as const, limit });
  return [
    { name: `${name}: p50`, unit: 'ms', better: 'lower', rounds: rounded('p50'), goal: goal(5) },
    { name: `${name}: p99`, unit: 'ms', better: 'lower', rounds: rounded('p99'), goal: goal(50) },
    {
      name: 'deliveries in the journal when that ends',
      unit: '',
      better: 'lower',
      rounds: results.map(({ on }) => ({ faretrail: on.depth, plain: Number.NaN })),
      goal: { text: `at most ${restingDepth}`, of: 'value', limit: restingDepth },
    },
  ];
}

async function forward(site: IngressSite, seconds: number, more: Record<string, string>): Promise<ForwardFigures> {
  const ingress = await site.startIngress(more);
  const connections = await openLanes(ingress.port, lanes);
  const make = requestMaker(ingress.port);
  await sleep(500);
  try {
    const send = (index: number) => connections.send(make(`order-${index % orders}`, 'Driving'));
    const { latencies, statuses } = await openLoad({ perSecond, seconds }, send);
    const depth = await ingress.metric('faretrail_journal_deliveries');
    if ([...statuses.keys()].some((status) => status !== 202)) throw new Error('a delivery was not acknowledged');
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), depth };
  } finally {
    connections.close();
    await ingress.stop();
  }
}
