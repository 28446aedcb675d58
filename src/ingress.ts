import { type IngressConfig, loadIngressConfig } from './config.js';
import type { SubscriptionKey } from './domain/workflow-ids.js';
import { createLogger, type Logger } from './observability/logging.js';
import { createIngressMetrics, type IngressMetrics } from './observability/metrics.js';
import { readPage, startMetricsServer } from './observability/metrics-server.js';
import { traceIntake, traceSignals } from './observability/traced.js';
import { openTracing, type Tracing } from './observability/tracing.js';
import { runProcess, stopSignal } from './run-process.js';
import { createSealer } from './sealing/sealer.js';
import { createWebhookPaths } from './sealing/webhook-paths.js';
import { loadTemporalSettings } from './temporal/settings.js';
import { createAcceptedSubscriptions } from './webhooks/accepted-subscriptions.js';
import { createAddresses } from './webhooks/addresses.js';
import { createBodyReader } from './webhooks/body-reader.js';
import {
  createThreadedDeliveries,
  type DeliveryPort,
  startTemporalThread,
  TemporalUnavailable,
} from './webhooks/delivery-port.js';
import { createForwarder } from './webhooks/forward/forwarder.js';
import {
  createDirectForwarding,
  createStarts,
  limitsOf,
  type Room,
  type RoutingPorts,
} from './webhooks/forward/routing.js';
import { createIntake, createLaterCheck, createShortening, type DeliveryStore } from './webhooks/intake.js';
import { openJournal } from './webhooks/journal/journal.js';
import { createObserver, type IngressObserver } from './webhooks/observer.js';
import { statusOf } from './webhooks/problems.js';
import { createProofRecord } from './webhooks/proof-record.js';
import { startIngressServer } from './webhooks/server.js';
import { createVerification } from './webhooks/verification.js';

async function main(): Promise<void> {
  const config = loadIngressConfig(process.env);
  const logger = createLogger({ level: config.logLevel, process: 'ingress' });
  const metrics = createIngressMetrics();
  const { address, namespace } = loadTemporalSettings(process.env); // the thread reads them too; here errors end the process
  const tracing = config.traces ? await openTracing({ process: 'ingress', logger, protocol: config.traces }) : null;
  const observer = createObserver({ logger, metrics });
  const { takeDelivery, store, headersToCheck } = await assemble({ config, logger, metrics, tracing, observer });
  const pages = { registry: metrics.registry, isLive: () => true, whyNotReady: store.whyNotReady };
  const metricsAt = { ...pages, setting: 'FARETRAIL_INGRESS_METRICS_PORT' } as const;
  const metricsPort = config.ingressMetricsPort;
  const metricsServer = metricsPort === null ? null : await startMetricsServer({ ...metricsAt, port: metricsPort });
  const server = await startIngressServer({
    host: config.ingressHost,
    port: config.ingressPort,
    addresses: createAddresses({
      accounts: config.accounts,
      readCapability: createWebhookPaths(config.webhookKeys, config.publicUrls).readCapability,
      perSecond: config.deliveriesPerSecond,
    }),
    maxBodyBytes: config.deliveryMaxKb * 1_024,
    headersToCheck,
    takeDelivery: tracing ? traceIntake(takeDelivery, tracing, statusOf) : takeDelivery,
    observer,
    readPage: metricsServer ? null : (path) => readPage(path, pages),
  });
  const accounts = config.accounts.map(({ name }) => name);
  const journal = config.journalDir === null ? 'off' : 'on';
  const ports = { port: server.port, metricsPort: metricsServer?.port };
  const stop = stopSignal();
  logger.info({ host: config.ingressHost, ...ports, accounts, journal, address, namespace }, 'ingress started');
  if (config.publicUrls.length === 0)
    logger.warn('FARETRAIL_PUBLIC_URL is not set: a proxy must pass the header Host on, or deliveries get 404');

  await stop;
  logger.info('ingress stopping');
  await server.close();
  await metricsServer?.close();
  await store.close();
  await tracing?.close();
  logger.info('ingress stopped: all requests have ended, and what is not forwarded is kept');
  // The thread and its connection end with the process.
  process.exit(0);
}

interface Parts {
  config: IngressConfig;
  logger: Logger;
  metrics: IngressMetrics;
  tracing: Tracing | null;
  observer: IngressObserver;
}

async function assemble(parts: Parts) {
  const { config, logger, metrics, tracing, observer } = parts;
  const { profile, webhookKeys } = config;
  const port = createPort(config, logger);
  const sealer = createSealer(webhookKeys);
  const verification = createVerification(profile.delivery.verification);
  const subscriptions = createAcceptedSubscriptions({
    read: (key) => port.readSubscription(key).catch((error) => tellUnread(logger, key, error)),
    unseal: sealer.unseal,
    onUnreadable: (key, error) =>
      logger.warn({ ...key, err: error }, 'a secret cannot be opened with the webhook keys'),
  });
  const proofs = createProofRecord({
    report: port.reportProofs,
    onVerified: observer.verified,
    onFailed: observer.notReported,
  });
  const starts = createStarts({ port, ...limitsOf(config), hasProofs: verification.needsSecret });
  const reader = createBodyReader(profile);
  const routing = {
    port: tracing ? traceSignals(starts, tracing) : starts,
    check: createLaterCheck({ subscriptions, verification, proofs, sealer }),
    shorten: createShortening(sealer),
    onForwarded: metrics.countForwarded,
  };
  const store: IngressStore =
    config.journalDir === null
      ? openDirect(port, routing)
      : await openStore(parts, routing, starts.room, verification.needsSecret);
  const maxBodyBytes = config.deliveryMaxKb * 1_024;
  const intake = { reader, subscriptions, verification, proofs, sealer, store, maxBodyBytes, observer };
  return { takeDelivery: createIntake(intake), store, headersToCheck: verification.headersToCheck };
}

function createPort({ taskQueue, accounts }: IngressConfig, logger: Logger): DeliveryPort {
  const untracked = Object.fromEntries(accounts.map((account) => [account.name, account.untracked]));
  return createThreadedDeliveries(
    () => startTemporalThread({ taskQueue, untracked }),
    (error) => logger.error({ err: error }, 'the thread that speaks with Temporal has died; another one is started'),
  );
}

/** Holds the deliveries of this subscription back while Temporal answers but its memo cannot be read, for example without a payload key. */
function tellUnread(logger: Logger, key: SubscriptionKey, error: unknown): never {
  if (!(error instanceof TemporalUnavailable)) logger.warn({ ...key, err: error }, 'a subscription cannot be read');
  throw error;
}

/** Where an ingress keeps deliveries, from the 2xx until Temporal has them. */
interface IngressStore extends DeliveryStore {
  /** Stops forwarding and waits for what is under way; what is not forwarded stays in the journal. */
  close(): Promise<void>;
}

/** With the journal off: Temporal itself. */
function openDirect(port: DeliveryPort, routing: RoutingPorts): IngressStore {
  return {
    accept: createDirectForwarding(routing),
    whyNotReady: () =>
      port.ping().then(
        () => null,
        () => 'Temporal does not answer, and the journal is off',
      ),
    close: async () => {},
  };
}

const forwardLimitMs = 10_000;

/** The journal and its forwarder. Throws `JournalError`. */
async function openStore(
  { config, metrics, logger, observer }: Parts,
  routing: RoutingPorts,
  room: Room,
  hasProofs: boolean,
): Promise<IngressStore> {
  const maxBytes = config.journalMaxMb * 1024 * 1024;
  const journal = await openJournal({
    ...{ folder: config.journalDir ?? '', maxBytes },
    shares: { isShared: config.accounts.length > 1, hasProofs },
  });
  metrics.showJournal({ ...journal, maxBytes });
  const forward = createDirectForwarding(routing);
  const forwarder = createForwarder({
    ...{ ...routing, journal, room },
    onFailed(error) {
      metrics.countForwardFailure();
      observer.notForwarded(error);
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
    async accept(delivery) {
      if (!forwarder.hasRoomFor(delivery)) return await forward(delivery);
      await journal.append(delivery).catch((error: unknown) => {
        if (!forwarder.mayGoPast(error)) throw error;
        return forward(delivery);
      });
    },
    whyNotReady: journal.whyUnwritable,
    async close() {
      await forwarder.stop(forwardLimitMs);
      await journal.close();
    },
  };
}

await runProcess('ingress', main);
