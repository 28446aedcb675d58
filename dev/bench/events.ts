import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultCadence } from '../../src/config.js';
import type { Cadence } from '../../src/domain/account.js';
import { deliveryReceivedSignal } from '../../src/workflows/messages.js';
import { actionsBetween, actionsOfRun, actionsOfServer, sumOfActions } from './actions.js';
import { type BenchPlace, type Cell, openCell } from './cell.js';
import { historySizeOf } from './histories.js';
import type { Measure } from './report.js';
import { playPolls } from './ride-polls.js';
import { fourHourRide } from './rides.js';
import type { Side } from './sides.js';
import { mean } from './statistics.js';

export interface EventsOptions {
  place: BenchPlace;
  rounds: number;
  say: (line: string) => void;
}

/** What one ride costs. */
interface RideCost {
  events: number;
  /** By the history of the run. */
  actions: number;
  /** By the server's own count, of all that it did for the ride; without heartbeats. */
  actionsOfServer: number;
  reads: number;
}

const fast: Cadence = { activeMs: 500, reservedMs: 500, pushedMs: 500 };
const never = 3_600_000;
const slow: Cadence = { activeMs: never, reservedMs: never, pushedMs: never };

/** How the changes of a ride are found. */
const manners = {
  polled: { side: 'faretrail', cadence: fast, isAnnounced: false },
  announced: { side: 'faretrail', cadence: slow, isAnnounced: true },
  plain: { side: 'plain', cadence: fast, isAnnounced: false },
} as const satisfies Record<string, { side: Side; cadence: Cadence; isAnnounced: boolean }>;
type Manner = keyof typeof manners;
const allManners = Object.keys(manners) as Manner[];

/** A run reads five times in ten seconds at most; then it would wait with a timer, which a slow ride does not need. */
const stepMs = 3_000;
const together = 10;

/**
 * Plays the eight statuses of a ride of four hours, one after the other in some seconds: events and actions of a run do not depend on the
 * time between changes, and those of the plain tracker are in proportion to its polls. The polls of four hours come from the pace.
 */
export async function benchEvents({ place, rounds, say }: EventsOptions): Promise<Measure[]> {
  const results: Record<Manner, RideCost>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`events: rides ${round + 1} of ${rounds}, polled, announced and of the plain tracker, about 160 s`);
    const result: Partial<Record<Manner, RideCost>> = {};
    for (const manner of allManners) result[manner] = await measure(place, manner);
    results.push(result as Record<Manner, RideCost>);
  }
  return toMeasures(results);
}

async function measure(place: BenchPlace, manner: Manner): Promise<RideCost> {
  const { side, cadence } = manners[manner];
  const cell = await openCell(place, { side, processes: 1, cadence });
  try {
    await play(cell, manner); // the token, and the watch of the account
    const before = await actionsOfServer(cell.server.metricsUrl);
    const costs = await Promise.all(Array.from({ length: together }, () => play(cell, manner)));
    const used = actionsBetween(before, await actionsOfServer(cell.server.metricsUrl));
    const of = (key: keyof RideCost): number => mean(costs.map((cost) => cost[key]));
    return {
      ...{ events: of('events'), actions: of('actions'), reads: of('reads') },
      actionsOfServer: sumOfActions(used) / together,
    };
  } finally {
    await cell.close();
  }
}

async function play(cell: Cell, manner: Manner): Promise<RideCost> {
  const { isAnnounced } = manners[manner];
  const orderId = randomUUID();
  const script = fourHourRide.map(([status], index) => ({ status, afterMs: index * stepMs }));
  cell.sandbox.addOrder({ interface: 'partner', orderId, script: isAnnounced ? script.slice(0, 1) : script });
  const handle = await cell.start({ at: 'partner', orderId });
  const { runId } = await handle.describe();
  if (isAnnounced) {
    for (const [status] of fourHourRide.slice(1)) {
      await sleep(stepMs);
      cell.sandbox.setStatus('partner', orderId, status);
      const receivedAt = new Date().toISOString();
      const delivery = { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt, status };
      await handle.signal(deliveryReceivedSignal, { deliveries: [delivery] });
    }
  }
  await handle.result();
  const { events } = await historySizeOf(cell.client, handle, runId);
  const actions = sumOfActions(await actionsOfRun(cell.client, handle));
  const reads = cell.sandbox.ledger({ orderId }).length;
  return { events, actions, reads, actionsOfServer: Number.NaN };
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

type Counted = 'events' | 'actions' | 'actionsOfServer';

function toMeasures(results: readonly Record<Manner, RideCost>[]): Measure[] {
  const polled = pollsOf([]);
  const announced = pollsOf(all);
  const endLost = pollsOf(all.slice(0, -1));
  const plainPolls = polled.polls + 1; // the first one at once
  const measure = (what: string, of: (result: Record<Manner, RideCost>) => [number, number], unit = ''): Measure => ({
    ...{ name: `4-hour ride, 8 statuses, default pace, ${what}`, unit, better: 'lower' },
    rounds: results.map(of).map(([faretrail, plain]) => ({ faretrail, plain })),
  });
  const counted = (manner: 'polled' | 'announced', what: string, key: Counted): Measure =>
    measure(`${manner}: ${what}`, ({ plain, ...ours }) => [ours[manner][key], (plain[key] / plain.reads) * plainPolls]);
  const requests = (manner: string, ofWatch: number): Measure =>
    measure(`${manner}: requests to the service`, () => [ofWatch + fourHourRide.length, plainPolls]);
  const late = (manner: string, seconds: number): Measure =>
    measure(`${manner}: end found late, mean`, () => [seconds, polled.endLateS], 's');
  const few = { goal: { text: 'at most 45', of: 'value', limit: 45 } } as const;
  const rare = { goal: { text: 'at least 20x fewer', of: 'factor', limit: 20 } } as const;
  return [
    { ...counted('polled', 'events', 'events'), ...rare },
    { ...counted('polled', 'actions by the history', 'actions'), ...few },
    { ...counted('polled', "actions by the server's count", 'actionsOfServer'), ...few },
    requests('polled', polled.polls),
    late('polled', polled.endLateS),
    { ...counted('announced', 'events', 'events'), ...rare },
    { ...counted('announced', 'actions by the history', 'actions'), ...few },
    { ...counted('announced', "actions by the server's count", 'actionsOfServer'), ...few },
    requests('announced', announced.polls),
    {
      ...late('announced, the delivery about the end lost', endLost.endLateS),
      goal: { text: 'at most 10 min', of: 'value', limit: 600 },
    },
  ];
}
