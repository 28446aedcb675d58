import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client } from '@temporalio/client';
import { type NativeConnection, Runtime } from '@temporalio/worker';
import { deadlineIn } from './clock.js';
import { loadWorkerConfig, type WorkerConfig } from './config.js';
import { createLogger, type Logger, toTemporalLogger } from './observability/logging.js';
import { createWorkerMetrics, type WorkerMetrics, workflowBuckets } from './observability/metrics.js';
import { startMetricsServer } from './observability/metrics-server.js';
import { traceActivities, traceHttp, traceMessages, traceNotices } from './observability/traced.js';
import { openTracing } from './observability/tracing.js';
import { countCalls, traceCalls, watchCalls } from './observability/watched-ride-api.js';
import { createOrderWorker, type OrderWorker } from './order-worker.js';
import { createHttp } from './ride-api/http.js';
import { createRideApi } from './ride-api/ride-api.js';
import { onSignal, runProcess } from './run-process.js';
import type { Store } from './store/store.js';
import { connectNative } from './temporal/connection.js';
import { createRunCounts, ensureSearchAttributes } from './temporal/visibility.js';
import { cachedRuns } from './temporal/workflow-code.js';

async function main(): Promise<void> {
  const config = loadWorkerConfig(process.env);
  const logger = createLogger({ level: config.logLevel, process: 'worker' });
  const sdkMetricsPort = config.metricsPort === null ? null : await freePort();
  installRuntime(logger, sdkMetricsPort);
  const store = typeof config.store === 'object' ? await openStore(config.store.url, logger) : config.store;
  const { connection, namespace, address, dataConverter } = await connectNative(process.env);
  if (!(await ensureSearchAttributes(connection, namespace)))
    logger.warn({ namespace }, 'not allowed to see whether the search attributes exist');
  const tracing = config.traces ? await openTracing({ process: 'worker', logger, protocol: config.traces }) : null;
  const client = new Client({
    ...{ connection, namespace, dataConverter },
    ...(tracing && { interceptors: { workflow: [traceMessages(tracing)] } }),
  });
  const metrics = createWorkerMetrics();
  metrics.showRuns(createRunCounts(client, config.taskQueue));
  metrics.showCacheLimit(cachedRuns());
  const http = createHttp({ proxy: config.proxy });
  const rideApi = createRideApi({
    http: tracing ? traceHttp(http, tracing) : http,
    profile: config.profile,
    keepsPersonalData: config.payloads.encrypts,
    retryAfterMaxMs: config.retryAfterMaxMs,
  });
  const worker = await createOrderWorker({
    config,
    store,
    connection,
    namespace,
    client,
    rideApi: watchCalls(
      tracing ? watchCalls(rideApi, traceCalls(tracing, config.profile)) : rideApi,
      countCalls(metrics),
    ),
    pollEvents: metrics.pollEvents,
    ...(tracing && {
      options: { interceptors: { activity: [traceActivities(tracing)] } },
      watchNotices: traceNotices(tracing),
    }),
  });
  metrics.showWatches(() => worker.watching.held());
  const pages = await servePages(config, { metrics, worker, connection, sdkMetricsPort });
  const accounts = config.accounts.map(({ name }) => name);
  const { taskQueue, deployment, proxy } = config;
  logger.info(
    { address, namespace, taskQueue, accounts, metricsPort: pages?.port, ...deployment, proxy: proxy?.origin },
    'worker started',
  );
  const { hasLeft } = await worker.run();
  await pages?.close();
  await rideApi.close();
  if (typeof store === 'object') await store.close();
  if (hasLeft) await connection.close();
  await tracing?.close();
  logger.info('worker stopped: all calls under way have ended');
  if (!hasLeft) process.exit(0);
}

/** Loaded only where there is a store. Throws `UnfitDatabase`; a store that is away holds nothing up. */
async function openStore(url: string, logger: Logger): Promise<Store> {
  const { openStore: open } = await import('./store/store.js');
  const store = open(url);
  const trouble = await store.trouble();
  if (trouble) logger.warn(`${trouble}; changes wait for it`);
  return store;
}

/** The SDK handles the first SIGTERM or SIGINT itself: workers drain, and `run` resolves. A second one would end the process. */
function installRuntime(logger: Logger, sdkMetricsPort: number | null): void {
  onSignal(['SIGTERM', 'SIGINT'], () => undefined);
  const prometheus = {
    bindAddress: `127.0.0.1:${sdkMetricsPort}`,
    histogramBucketOverrides: workflowBuckets,
    // The names that Prometheus advises. The SDK appends the suffixes to the metrics of workflows, too.
    ...{ countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
  };
  Runtime.install({
    logger: toTemporalLogger(logger),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(sdkMetricsPort === null ? {} : { metrics: { prometheus } }),
    },
  });
}

interface Shown {
  metrics: WorkerMetrics;
  worker: OrderWorker;
  connection: NativeConnection;
  sdkMetricsPort: number | null;
}

async function servePages({ metricsPort }: WorkerConfig, shown: Shown) {
  if (metricsPort === null) return undefined;
  const { metrics, worker, connection, sdkMetricsPort } = shown;
  return await startMetricsServer({
    port: metricsPort,
    setting: 'FARETRAIL_METRICS_PORT',
    registry: metrics.registry,
    sdkMetricsUrl: `http://127.0.0.1:${sdkMetricsPort}/metrics`,
    isLive: worker.isLive,
    async whyNotReady() {
      const why = worker.whyNotPolling();
      if (why !== null) return why;
      const ask = () => connection.workflowService.getSystemInfo({});
      return await connection.withDeadline(deadlineIn(2_000), ask).then(
        () => null,
        () => 'Temporal does not answer',
      );
    },
  });
}

/** The SDK's exporter needs a port of its own; its text is served with ours. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

await runProcess('worker', main);
