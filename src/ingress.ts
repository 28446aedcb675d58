import { once } from 'node:events';
import { type IngressConfig, loadIngressConfig } from './config.js';
import { createDeliveryReader } from './contracts/delivery-body.js';
import type { SubscriptionKey } from './domain/workflow-ids.js';
import { createFailureLog, createObserver } from './ingress-log.js';
import { createLogger, failProcess, type Logger } from './observability/logging.js';
import { createIngressMetrics, type IngressMetrics } from './observability/metrics.js';
import { type MetricsServer, startMetricsServer } from './observability/metrics-server.js';
import { traceIntake, traceSignals } from './observability/traced.js';
import { openTracing, type Tracing } from './observability/tracing.js';
import { createSealer } from './sealing/sealer.js';
import { createWebhookPaths } from './sealing/webhook-paths.js';
import { loadTemporalSettings } from './temporal/connection.js';
import { createThreadedDeliveries, startTemporalThread } from './threaded-deliveries.js';
import { createAcceptedSubscriptions } from './webhooks/accepted-subscriptions.js';
import { type DeliveryPort, TemporalUnavailable } from './webhooks/delivery-port.js';
import { createForwarder, type ForwarderOptions } from './webhooks/forward/forwarder.js';
import { createDirectForwarding } from './webhooks/forward/routing.js';
import { createStarts } from './webhooks/forward/starts.js';
import { createDeliveryIntake, createLaterCheck, type DeliveryStore } from './webhooks/intake.js';
import { openJournal } from './webhooks/journal/journal.js';
import { statusOf } from './webhooks/problems.js';
import { createAddressRates, startIngressServer } from './webhooks/server.js';
import { createVerification } from './webhooks/verification.js';

async function main(): Promise<void> {
  const config = loadIngressConfig(process.env);
  const logger = createLogger({ level: config.logLevel, process: 'ingress' });
  const metrics = createIngressMetrics();
  const { address, namespace } = loadTemporalSettings(process.env); // the thread reads them too; here errors end the process
  const tracing = config.traces ? await openTracing({ process: 'ingress', logger, protocol: config.traces }) : null;
  const port = createPort(config, logger);
  const { intake, store, observer } = await assemble({ config, logger, metrics, port, tracing });
  const pages = await servePages(config, store, metrics);
  const server = await startIngressServer({
    host: config.ingressHost,
    port: config.ingressPort,
    intake: tracing ? traceIntake(intake, tracing, statusOf) : intake,
    rates: createAddressRates(config.deliveriesPerSecond),
    observer,
    pages: pages ? null : { whyNotReady: store.whyNotReady, metricsPage: () => pageOf(metrics) },
  });
  const accounts = config.accounts.map(({ name }) => name);
  const journal = config.journalDir === null ? 'off' : 'on';
  logger.info(
    { host: config.ingressHost, port: server.port, metricsPort: pages?.port, accounts, journal, address, namespace },
    'ingress started',
  );

  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  logger.info('ingress stopping');
  await server.close();
  await pages?.close();
  await store.close();
  await tracing?.close();
  logger.info('ingress stopped: all requests have ended, and what is not forwarded is kept');
  // The thread and its connection end with the process.
  process.exit(0);
}

const pageOf = async ({ registry }: IngressMetrics) => ({ type: registry.contentType, body: await registry.metrics() });

/** The pages for probes and Prometheus at a port of their own, where the settings name one. */
async function servePages(
  { ingressMetricsPort }: IngressConfig,
  { whyNotReady }: IngressStore,
  { registry }: IngressMetrics,
): Promise<MetricsServer | null> {
  if (ingressMetricsPort === null) return null;
  return await startMetricsServer({
    port: ingressMetricsPort,
    setting: 'FARETRAIL_INGRESS_METRICS_PORT',
    registry,
    isLive: () => true,
    whyNotReady: async () => await whyNotReady(),
  });
}

function createPort({ taskQueue, accounts }: IngressConfig, logger: Logger): DeliveryPort {
  const untracked = Object.fromEntries(accounts.map((account) => [account.name, account.untracked]));
  return createThreadedDeliveries(
    () => startTemporalThread({ taskQueue, untracked }),
    (error) => logger.error({ err: error }, 'the thread that speaks with Temporal has died; another one is started'),
  );
}

interface Parts {
  config: IngressConfig;
  logger: Logger;
  metrics: IngressMetrics;
  port: DeliveryPort;
  tracing: Tracing | null;
}

async function assemble({ config, logger, metrics, port, tracing }: Parts) {
  const { profile, webhookKeys } = config;
  const sealer = createSealer(webhookKeys);
  const verification = createVerification(profile.delivery.verification);
  const subscriptions = createAcceptedSubscriptions({
    read: (key) => port.readSubscription(key).catch((error) => tellUnread(logger, key, error)),
    unseal: sealer.unseal,
    onUnreadable: (key, error) =>
      logger.warn({ ...key, err: error }, 'a secret cannot be opened with the webhook keys'),
  });
  const starts = createStarts({ port, newOrdersAtOnce: config.newOrdersAtOnce, parkedAtMost: config.parkedAtMost });
  const routing = {
    ...{ port: tracing ? traceSignals(starts, tracing) : starts, room: starts.room },
    ...{ check: createLaterCheck({ subscriptions, verification, sealer }), onForwarded: metrics.countForwarded },
  };
  const store = await openStore({ config, routing, port, metrics, logger });
  const observer = createObserver(logger, metrics);
  const intake = createDeliveryIntake({
    accounts: config.accounts,
    readCapability: createWebhookPaths(webhookKeys).readCapability,
    readBody: createDeliveryReader(profile.pointers.delivery, profile.statuses.notOrderStatus),
    ...{ subscriptions, verification, sealer, store, observer },
  });
  return { intake, store, observer };
}

/** Where an ingress keeps deliveries, from the 2xx until Temporal has them. */
interface IngressStore extends DeliveryStore {
  /** Stops forwarding and waits for what is under way; what is not forwarded stays in the journal. */
  close(): Promise<void>;
}

interface StoreParts extends Pick<Parts, 'config' | 'metrics' | 'logger' | 'port'> {
  routing: Pick<ForwarderOptions, 'port' | 'check' | 'room' | 'onForwarded'>;
}

const forwardLimitMs = 10_000;

/** The journal and its forwarder; with the journal off, Temporal itself. Throws `JournalError`. */
async function openStore({ config, routing, port, metrics, logger }: StoreParts): Promise<IngressStore> {
  const forward = createDirectForwarding(routing);
  if (config.journalDir === null) {
    const whyNotReady = () =>
      port.ping().then(
        () => null,
        () => 'Temporal does not answer, and the journal is off',
      );
    return { accept: forward, whyNotReady, close: async () => {} };
  }
  const maxBytes = config.journalMaxMb * 1024 * 1024;
  const journal = await openJournal({ folder: config.journalDir, maxBytes });
  metrics.showJournal({ ...journal, maxBytes });
  const tellFailure = createFailureLog(logger);
  const forwarder = createForwarder({
    ...routing,
    journal,
    onFailed(error) {
      metrics.countForwardFailure();
      tellFailure(error);
    },
    onOutage(isOut) {
      metrics.setOutage(isOut);
      if (isOut) logger.warn('Temporal takes no deliveries; they wait in the journal');
      else logger.info('Temporal takes deliveries again');
    },
  });
  forwarder.start();
  metrics.showWaiting(forwarder.waiting);
  return {
    // Past the journal only a run that follows the order takes a delivery; others are refused.
    accept: (delivery) => (forwarder.hasRoomFor(delivery) ? journal.append(delivery) : forward(delivery)),
    whyNotReady: () => journal.whyUnwritable(),
    async close() {
      await forwarder.stop(forwardLimitMs);
      await journal.close();
    },
  };
}

/** Holds the deliveries of this subscription back while Temporal answers but its memo cannot be read, for example without a payload key. */
function tellUnread(logger: Logger, key: SubscriptionKey, error: unknown): never {
  if (!(error instanceof TemporalUnavailable)) logger.warn({ ...key, err: error }, 'a subscription cannot be read');
  throw error;
}

main().catch((error: unknown) => failProcess(error, 'ingress'));
