import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { loadWorkerConfig, type WorkerConfig } from '../src/config.js';
import type { OrderTrail } from '../src/domain/order/trail.js';
import { createOrderWorker } from '../src/order-worker.js';
import { deliveryReceivedSignal } from '../src/workflows/messages.js';
import { historySizeOf } from './histories.js';
import type { Measure } from './report.js';
import { fourHourRide } from './rides.js';
import { workerEnv } from './settings.js';
import { startOrder } from './sides.js';
import { startVirtualTime, type VirtualTime } from './virtual-time.js';

export interface AnnouncedOptions {
  folder: string;
  timeSkippingServer: string;
  rounds: number;
  say: (line: string) => void;
}

/** What one ride costs, and how late its end was seen. */
interface RideCost {
  reads: number;
  events: number;
  lateS: number;
}

/** Which deliveries come: all, all but that about the end, or none. */
type Deliveries = 'all' | 'endLost' | 'none';

/** The same ride with deliveries that announce each change, and polled only. */
export async function benchAnnounced(options: AnnouncedOptions): Promise<Measure[]> {
  const rounds: Record<Deliveries, RideCost>[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    options.say(`announced: rides ${round + 1} of ${options.rounds}, three of them, about 40 s`);
    rounds.push({
      all: await ride(options, 'all'),
      endLost: await ride(options, 'endLost'),
      none: await ride(options, 'none'),
    });
  }
  return toMeasures(rounds);
}

const tries = 4;
const tryForMs = 60_000;

/** A ride takes some ten seconds. The server may forget to skip time in the middle of one; then it is tried on a new server. */
async function ride(options: AnnouncedOptions, deliveries: Deliveries): Promise<RideCost> {
  const { folder, timeSkippingServer, say } = options;
  const config = loadWorkerConfig(workerEnv({ folder, sandboxUrl: 'http://127.0.0.1:1' }));
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const time = await startVirtualTime(timeSkippingServer);
    const giveUp = new AbortController();
    const late = sleep(tryForMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
    const done = rideOn(time, config, deliveries);
    const cost = await Promise.race([done, late]);
    giveUp.abort();
    await time.env.teardown();
    say(`announced: deliveries ${deliveries}: ${cost ? 'done' : 'the server stopped skipping time; again'}`);
    if (cost) return cost;
    done.catch(() => undefined);
  }
  throw new Error(`no ride came to its end in ${tries} tries`);
}

async function rideOn(time: VirtualTime, config: WorkerConfig, deliveries: Deliveries): Promise<RideCost> {
  const { env: server, rideApi, now, options } = time;
  const shared = { rideApi, connection: server.nativeConnection, client: server.client, now, options };
  const worker = await createOrderWorker({ ...shared, config, namespace: 'default' });
  const running = worker.run();
  try {
    return await follow(time, config, deliveries);
  } finally {
    worker.shutdown();
    await Promise.allSettled([running]); // an abandoned ride has no server any more
  }
}

const deliveryDelayMs = 1_000;

async function follow({ env, calls }: VirtualTime, config: WorkerConfig, deliveries: Deliveries): Promise<RideCost> {
  const before = calls().reads;
  const order = { at: 'business' as const, orderId: randomUUID() };
  const context = { client: env.client, taskQueue: config.taskQueue, cadence: config.poll };
  const handle = await startOrder('faretrail', order, context);
  const { runId } = await handle.describe();
  let atMs = 0;
  for (const [status, fromMs] of fourHourRide.slice(1)) {
    await env.sleep(fromMs + deliveryDelayMs - atMs);
    atMs = fromMs + deliveryDelayMs;
    if (deliveries === 'all' || (deliveries === 'endLost' && status !== 'Completed'))
      await deliver(env.client, handle.workflowId);
  }
  const trail: OrderTrail = await handle.result();
  const { events } = await historySizeOf(env.client, handle, runId);
  return { events, reads: calls().reads - before, lateS: lateS(trail) };
}

const deliver = (client: Client, workflowId: string): Promise<void> =>
  client.workflow.getHandle(workflowId).signal(deliveryReceivedSignal, {
    deliveries: [
      {
        deliveryId: randomUUID().replaceAll('-', ''),
        eventType: 'status_changed',
        receivedAt: new Date().toISOString(),
      },
    ],
  });

/** The ride begins with the first read. */
function lateS({ timeline }: OrderTrail): number {
  const [first, last] = [timeline[0], timeline.at(-1)];
  const [, endMs] = fourHourRide.at(-1) ?? ['', 0];
  return (Date.parse(last?.at ?? '') - Date.parse(first?.at ?? '') - endMs) / 1_000;
}

function toMeasures(rounds: readonly Record<Deliveries, RideCost>[]): Measure[] {
  const measure = (name: string, of: keyof RideCost, deliveries: Deliveries, unit = ''): Measure => ({
    name: `announced 4-hour ride, 8 statuses, beside the same ride polled: ${name}`,
    unit,
    better: 'lower',
    rounds: rounds.map((round) => ({ faretrail: round[deliveries][of], plain: round.none[of] })),
  });
  return [
    measure('upstream reads', 'reads', 'all'),
    { ...measure('events', 'events', 'all'), goal: { text: 'at most 115', of: 'value', limit: 115 } },
    measure('end seen late', 'lateS', 'all', 's'),
    {
      ...measure('end seen late, its delivery lost', 'lateS', 'endLost', 's'),
      goal: { text: 'at most 10 min', of: 'value', limit: 600 },
    },
  ];
}
