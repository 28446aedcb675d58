import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultCadence } from '../../src/config.js';
import type { Cadence } from '../../src/domain/account.js';
import { deliveryReceivedSignal } from '../../src/workflows/messages.js';
import { historySizeOf } from './histories.js';
import { atMost, type Measure } from './report.js';
import { playPolls } from './ride-polls.js';
import { fourHourRide } from './rides.js';
import { type Rounds, takeTurns } from './rounds.js';
import { actionsWhile, isHeartbeat, sumOf } from './server-counts.js';
import { noPolls, pollEvery } from './settings.js';
import type { Side } from './sides.js';
import { type BenchPlace, openSite, type Site } from './site.js';
import { mean } from './statistics.js';

export interface EventsOptions extends Rounds {
  place: BenchPlace;
}

/** What one ride costs. */
interface RideCost {
  events: number;
  /** By the server's own count, of all that it did for the ride; without heartbeats. */
  actions: number;
  reads: number;
}

/** How the changes of a ride are found. */
const manners = {
  polled: { side: 'faretrail', cadence: pollEvery(500), isAnnounced: false },
  announced: { side: 'faretrail', cadence: noPolls, isAnnounced: true },
  plain: { side: 'plain', cadence: pollEvery(500), isAnnounced: false },
} as const satisfies Record<string, { side: Side; cadence: Cadence; isAnnounced: boolean }>;
type Manner = keyof typeof manners;

/** A run reads five times in ten seconds at most; then it would wait with a timer, which a slow ride does not need. */
const stepMs = 3_000;
const together = 10;

/**
 * Plays the eight statuses of a ride of four hours, one after the other in some seconds: events and actions of a run do not depend on the
 * time between changes, and those of the plain tracker are in proportion to its polls. The polls of four hours come from the pace.
 */
export async function benchEvents({ place, ...asked }: EventsOptions): Promise<Measure[]> {
  const about = (manner: Manner) => `events, ${together} rides at once, ${manner}, about 55 s`;
  return toMeasures(
    await takeTurns(asked, Object.keys(manners) as Manner[], about, (manner) => measure(place, manner)),
  );
}

async function measure(place: BenchPlace, manner: Manner): Promise<RideCost> {
  const { side, cadence } = manners[manner];
  const site = await openSite(place, { side, workers: 1, cadence });
  try {
    await play(site, manner); // the token, and the watch of the account
    let costs: Omit<RideCost, 'actions'>[] = [];
    const used = await actionsWhile(site.temporal, async () => {
      costs = await Promise.all(Array.from({ length: together }, () => play(site, manner)));
    });
    return {
      events: mean(costs.map(({ events }) => events)),
      reads: mean(costs.map(({ reads }) => reads)),
      actions: sumOf(used, (action) => !isHeartbeat(action)) / together,
    };
  } finally {
    await site.close();
  }
}

async function play(site: Site, manner: Manner): Promise<Omit<RideCost, 'actions'>> {
  const { isAnnounced } = manners[manner];
  const orderId = randomUUID();
  const script = fourHourRide.map(([status], index) => ({ status, afterMs: index * stepMs }));
  site.sandbox.addOrder({ interface: 'partner', orderId, script: isAnnounced ? script.slice(0, 1) : script });
  const handle = await site.start({ at: 'partner', orderId });
  const { runId } = await handle.describe();
  for (const [status] of isAnnounced ? fourHourRide.slice(1) : []) {
    await sleep(stepMs);
    site.sandbox.setStatus('partner', orderId, status);
    const receivedAt = new Date().toISOString();
    const delivery = { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt, status };
    await handle.signal(deliveryReceivedSignal, { deliveries: [delivery] });
  }
  await handle.result();
  const { events } = await historySizeOf(site.client, handle, runId);
  return { events, reads: site.sandbox.ledger({ orderId }).length };
}

const plays = 500;
const all = fourHourRide.map((_, index) => index);

/** The means of four hours at the default pace, by the changes of which deliveries come. */
function pollsOf(announced: readonly number[]): { polls: number; endLateS: number } {
  const ride = { ride: fourHourRide, cadence: defaultCadence, announced };
  const played = Array.from({ length: plays }, () => playPolls(ride));
  const endLateMs = mean(played.map((one) => one.endLateMs));
  return { polls: mean(played.map(({ polls }) => polls)), endLateS: endLateMs / 1_000 };
}

function toMeasures(results: readonly Record<Manner, RideCost>[]): Measure[] {
  const polled = pollsOf([]);
  const announced = pollsOf(all);
  const endLost = pollsOf(all.slice(0, -1));
  const plainPolls = polled.polls + 1; // the first one at once
  const measure = (what: string, of: (result: Record<Manner, RideCost>) => [number, number], unit = ''): Measure => ({
    ...{ name: `4-hour order, 8 statuses, default pace, ${what}`, unit, better: 'lower' },
    rounds: results.map(of).map(([faretrail, plain]) => ({ faretrail, plain })),
  });
  const counted = (manner: 'polled' | 'announced', what: string, key: 'events' | 'actions'): Measure =>
    measure(`${manner}: ${what}`, ({ plain, ...ours }) => [ours[manner][key], (plain[key] / plain.reads) * plainPolls]);
  const requests = (manner: string, ofWatch: number): Measure =>
    measure(`${manner}: requests to the service`, () => [ofWatch + fourHourRide.length, plainPolls]);
  const late = (manner: string, seconds: number): Measure =>
    measure(`${manner}: end found late, mean`, () => [seconds, polled.endLateS], 's');
  const rare = { goal: { text: 'at least 20x fewer', of: 'factor', limit: 20 } } as const;
  return [
    { ...counted('polled', 'events', 'events'), ...rare },
    { ...counted('polled', 'actions', 'actions'), ...atMost(45) },
    requests('polled', polled.polls),
    late('polled', polled.endLateS),
    { ...counted('announced', 'events', 'events'), ...rare },
    { ...counted('announced', 'actions', 'actions'), ...atMost(45) },
    requests('announced', announced.polls),
    {
      ...late('announced, the delivery about the end lost', endLost.endLateS),
      goal: { text: 'at most 10 min', of: 'value', limit: 600 },
    },
  ];
}
