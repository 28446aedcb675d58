import { randomUUID } from 'node:crypto';
import type { bareOrder } from './baseline/workflows.js';
import { closedLoop } from './closed-loop.js';
import { atLeastTimes, type Measure } from './report.js';
import { inFolder, type Rounds, takeTurns } from './rounds.js';
import { noPolls } from './settings.js';
import { type Side, sides } from './sides.js';
import { type BenchPlace, openSite, type Site, type SiteOptions, type TemporalSource } from './site.js';
import { mean } from './statistics.js';
import { createSteps } from './steps.js';
import { withTracker } from './tracker.js';
import { cpuMsOf } from './usage.js';
import { type Door, openDoor } from './webhook-load.js';

export interface OrdersOptions extends Rounds {
  temporal: TemporalSource;
  /** Orders in each round and on each side. */
  orders: number;
}

const inFlight = 64;
const warmUp = 300; // until the code of both sides is compiled
const limitMs = 180_000;
const changes = ['Confirmed', 'Driving', 'Completed'];

/** What a whole announced order costs; CPU in milliseconds. */
export interface OrderFigures {
  perSecond: number;
  serverMs: number;
  workerMs: number;
  ingressMs: number;
  events: number;
}

/**
 * Measures whole announced orders: a start, three changes that deliveries announce, the result. Our side reads the order after the start and
 * after each delivery, which comes through the ingress. The bare workflow takes three signals and reads nothing.
 */
export async function benchOrders({ temporal, orders, ...asked }: OrdersOptions): Promise<Measure[]> {
  const about = (side: Side) => `orders, ${side}, about ${Math.round(20 + orders / 20)} s`;
  const results = await inFolder(async (folder) => {
    const place = await withTracker({ folder, temporal });
    return await takeTurns(asked, sides, about, (side) => measureOrders(place, { side, orders }));
  });
  return toMeasures(results);
}

interface OneSide extends Pick<SiteOptions, 'workerEnv'> {
  side: Side;
  orders: number;
}

/** Whole orders on one side. */
export async function measureOrders(place: BenchPlace, { orders, ...options }: OneSide): Promise<OrderFigures> {
  const site = await openSite(place, { ...options, workers: 1, cadence: noPolls });
  const door = options.side === 'faretrail' ? await openDoor(site.startIngress(), inFlight) : null;
  const course = door ? announced(site, door) : bare(site);
  const cpu = () => [site.temporal.pid, site.workers[0]?.pid ?? null, door?.ingress.pid ?? null].map(cpuMsOf);
  try {
    await closedLoop({ count: warmUp, inFlight, limitMs }, course.follow);
    const before = cpu();
    const startedAt = performance.now();
    const ids = await closedLoop({ count: orders, inFlight, limitMs }, course.follow);
    const seconds = (performance.now() - startedAt) / 1_000;
    const [serverMs = 0, workerMs = 0, ingressMs = 0] = cpu().map((ms, at) => (ms - (before[at] ?? 0)) / ids.length);
    // A read that found no room at once takes more events.
    const runs = await Promise.all(ids.slice(-100).map((id) => site.client.workflow.getHandle(id).describe()));
    const events = mean(runs.map(({ historyLength }) => historyLength));
    return { perSecond: ids.length / seconds, serverMs, workerMs, ingressMs, events };
  } finally {
    course.end();
    await door?.close();
    await site.close();
  }
}

/** The way of an order from its start to its end. */
interface Course {
  /** Gives the workflow id once the run has ended. */
  follow(): Promise<string>;
  end(): void;
}

function announced({ sandbox, followOrder }: Site, { deliver }: Door): Course {
  const reads = createSteps();
  // Looking through the whole ledger for each order would take the cores from the measured processes.
  const look = setInterval(() => {
    const entries = sandbox.ledger({ operation: 'orderDetails' });
    sandbox.resetLedger();
    for (const { orderId } of entries) reads.done(orderId ?? '');
  }, 3);
  return {
    async follow() {
      const orderId = randomUUID();
      sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Pending', afterMs: 0 }] });
      const first = reads.next(orderId);
      const run = await followOrder(orderId);
      await first;
      for (const status of changes) {
        const read = reads.next(orderId);
        sandbox.setStatus('business', orderId, status);
        const answer = await deliver(orderId, status);
        if (answer !== 202) throw new Error(`a delivery was answered ${answer}`);
        await read;
      }
      await run.result();
      return run.workflowId;
    },
    end: () => clearInterval(look),
  };
}

function bare({ client, taskQueue, workers }: Site): Course {
  const handled = createSteps();
  workers[0]?.onHandled(handled.done);
  return {
    async follow() {
      const orderId = randomUUID();
      const workflowId = `bare/${orderId}`;
      const first = handled.next(orderId);
      const options = { workflowId, taskQueue, args: [orderId] as [string] };
      const run = await client.workflow.start<typeof bareOrder>('bareOrder', options);
      await first;
      for (const status of changes) {
        const one = handled.next(orderId);
        await run.signal('orderChanged', { status, terminal: status === 'Completed' });
        await one;
      }
      await run.result();
      return workflowId;
    },
    end: () => undefined,
  };
}

function toMeasures(results: readonly Record<Side, OrderFigures>[]): Measure[] {
  const rounds = (key: keyof OrderFigures) =>
    results.map(({ faretrail, plain }) => ({ faretrail: faretrail[key], plain: plain[key] }));
  const name = (what: string) => `announced orders, three changes, ${inFlight} in flight: ${what}`;
  const reads = changes.length + 1;
  const serverGoal = { text: `at most 24 ms a read, of which there are ${reads}`, limit: 24 * reads };
  return [
    {
      ...{ name: name('whole orders'), unit: 'orders/s', better: 'higher', rounds: rounds('perSecond') },
      ...atLeastTimes(0.42),
    },
    {
      ...{ name: name('CPU of the server'), unit: 'ms', better: 'lower', rounds: rounds('serverMs') },
      goal: { ...serverGoal, of: 'value' },
    },
    { name: name('CPU of the worker'), unit: 'ms', better: 'lower', rounds: rounds('workerMs') },
    { name: name('CPU of the ingress'), unit: 'ms', better: 'lower', rounds: rounds('ingressMs') },
    { name: name('events'), unit: '', better: 'lower', rounds: rounds('events') },
  ];
}
