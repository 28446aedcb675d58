import { randomUUID } from 'node:crypto';
import { loadWorkerConfig, type WorkerConfig } from '../src/config.js';
import type { Cadence } from '../src/domain/account.js';
import { createOrderWorker } from '../src/order-worker.js';
import { createTracker } from './baseline/worker.js';
import { type HistorySize, historySizeOf } from './histories.js';
import type { Measure } from './report.js';
import { workerEnv } from './settings.js';
import { type Side, sidesInRound, startOrder } from './sides.js';
import { startVirtualTime, type VirtualTime } from './virtual-time.js';

export interface EventsOptions {
  folder: string;
  timeSkippingServer: string;
  trackerCodePath: string;
  rounds: number;
  say: (line: string) => void;
}

interface RideCost extends HistorySize {
  reads: number;
}

/** Follows a ride of four hours and eight statuses at the default cadence, on a server that skips time. */
export async function benchEvents(options: EventsOptions): Promise<Measure[]> {
  const time = await startVirtualTime(options.timeSkippingServer);
  const env = workerEnv({ folder: options.folder, sandboxUrl: 'http://127.0.0.1:1' });
  const ours = loadWorkerConfig(env);
  const theirs = { ...ours, taskQueue: `${ours.taskQueue}-plain` };
  const stop = await startWorkers(time, options, { ours, theirs });
  try {
    const rounds: Record<Side, RideCost>[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      options.say(`events: ride ${round + 1} of ${options.rounds}, both sides, about 25 s`);
      rounds.push(await rideOnce(time, round, { ours, theirs }));
    }
    return toMeasures(rounds);
  } finally {
    await stop();
  }
}

interface Configs {
  ours: WorkerConfig;
  theirs: WorkerConfig;
}

async function startWorkers(time: VirtualTime, { trackerCodePath }: EventsOptions, { ours, theirs }: Configs) {
  const { env, rideApi, now, options } = time;
  const shared = { rideApi, connection: env.nativeConnection, now, options };
  const worker = await createOrderWorker({ ...shared, config: ours, client: env.client, namespace: 'default' });
  const tracker = await createTracker({ ...shared, config: theirs, codePath: trackerCodePath });
  const running = Promise.all([worker.run(), tracker.run()]);
  return async () => {
    worker.shutdown();
    tracker.shutdown();
    await running;
    await env.teardown();
  };
}

async function rideOnce(time: VirtualTime, round: number, { ours, theirs }: Configs): Promise<Record<Side, RideCost>> {
  const rides: Partial<Record<Side, RideCost>> = {};
  const [{ poll }] = ours.accounts;
  for (const side of sidesInRound(round)) {
    rides[side] = await ride(time, side, side === 'faretrail' ? ours.taskQueue : theirs.taskQueue, poll);
  }
  return rides as Record<Side, RideCost>;
}

async function ride({ env, calls }: VirtualTime, side: Side, taskQueue: string, cadence: Cadence): Promise<RideCost> {
  const before = calls().reads;
  const order = { at: 'partner' as const, orderId: randomUUID() };
  const handle = await startOrder(side, order, { client: env.client, taskQueue, cadence });
  const { runId } = await handle.describe();
  await handle.result();
  return { ...(await historySizeOf(env.client, handle, runId)), reads: calls().reads - before };
}

function toMeasures(rounds: readonly Record<Side, RideCost>[]): Measure[] {
  const measure = (name: string, of: 'events' | 'reads'): Measure => ({
    name: `4-hour ride, 8 statuses, default cadence: ${name}`,
    unit: '',
    better: 'lower',
    rounds: rounds.map(({ faretrail, plain }) => ({ faretrail: faretrail[of], plain: plain[of] })),
  });
  const goal = { text: 'at least 20x fewer', of: 'factor', limit: 20 } as const;
  return [{ ...measure('events', 'events'), goal }, measure('upstream reads', 'reads')];
}
