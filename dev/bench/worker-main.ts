// A worker of one side in its own process. worker-process.ts starts it.
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { loadWorkerConfig } from '../../src/config.js';
import type { OrderWorker } from '../../src/order-worker.js';
import { createOrderWorker } from '../../src/order-worker.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import { toDataConverter } from '../../src/sealing/data-converter.js';
import { openStore } from '../../src/store/store.js';
import { createTracker } from './baseline/worker.js';
import { collectGarbage } from './collect-garbage.js';
import { createPollCounts } from './poll-counts.js';
import { threadHeaps } from './thread-heaps.js';
import type { Handled, Question, WorkerState } from './worker-process.js';

async function main(): Promise<void> {
  const { BENCH_SIDE, BENCH_TRACKER_CODE = '', TEMPORAL_ADDRESS = '' } = process.env;
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  const config = loadWorkerConfig(process.env);
  const connection = await NativeConnection.connect({ address: TEMPORAL_ADDRESS });
  const rideApi = createRideApi({ profile: config.profile });
  const client = new Client({ connection, dataConverter: toDataConverter(config.payloads) });
  const shared = { config, rideApi, connection };
  const tracker =
    BENCH_SIDE === 'plain'
      ? await createTracker({
          ...shared,
          codePath: BENCH_TRACKER_CODE,
          onHandled: (handled) => process.send?.({ handled } satisfies Handled),
        })
      : undefined;
  const store = typeof config.store === 'object' ? openStore(config.store.url) : config.store;
  const counts = createPollCounts();
  const worker = tracker
    ? { workers: [tracker], run: () => tracker.run(), watching: { held: () => [] } }
    : await createOrderWorker({
        ...shared,
        ...{ client, namespace: 'default', store, pollEvents: counts.events },
      });
  process.on('message', async (question: Question) => {
    if (question === 'state without garbage') await collectGarbage();
    const orders = worker.watching.held().reduce((sum, { polls }) => sum + polls.size, 0);
    process.send?.({ ...stateOf(worker.workers), watch: { orders, ...counts.take() } } satisfies WorkerState);
  });
  process.on('disconnect', () => process.exit(1)); // the bench has ended
  process.send?.('ready');
  await worker.run();
  await rideApi.close();
  await connection.close();
  process.exit(0);
}

const stateOf = (workers: OrderWorker['workers']): Omit<WorkerState, 'watch'> => ({
  rssBytes: process.memoryUsage.rss(),
  peakRssBytes: process.resourceUsage().maxRSS * 1_024,
  cachedRuns: workers.reduce((sum, worker) => sum + worker.getStatus().numCachedWorkflows, 0),
  heaps: threadHeaps(),
});

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
