import { once } from 'node:events';
import { Client, Connection } from '@temporalio/client';
import { ConfigError, type IngressConfig, loadIngressConfig } from './config.js';
import { createDeliveryReader } from './contracts/delivery-body.js';
import { FaretrailError } from './domain/errors.js';
import { createIngressMetrics, type IngressMetrics } from './ingress-metrics.js';
import { openIngressStore } from './ingress-store.js';
import { createLogger, type Logger } from './logging.js';
import { createSealer } from './sealing.js';
import { loadTemporalSettings } from './temporal-connection.js';
import { createDeliveryPort } from './temporal-deliveries.js';
import { promptConnectionOptions } from './temporal-unavailability.js';
import { createWebhookPaths } from './webhook-paths.js';
import { createAcceptedSubscriptions } from './webhooks/accepted-subscriptions.js';
import { createDeliveryIntake } from './webhooks/delivery-intake.js';
import type { DeliveryPort } from './webhooks/delivery-port.js';
import type { IngressEvents } from './webhooks/ingress-events.js';
import { startIngressServer } from './webhooks/ingress-server.js';
import { createLaterCheck } from './webhooks/later-check.js';
import { createVerification } from './webhooks/verification.js';

const readyLimitMs = 2_000;
/** Header names come from outside. */
const maxPlaces = 100;

async function main(): Promise<void> {
  const config = loadIngressConfig(process.env);
  const logger = createLogger({ level: config.logLevel, process: 'ingress' });
  const metrics = createIngressMetrics();
  const { connection, port, address, namespace } = connectLazily(config);
  const { intake, store, events } = await assemble({ config, logger, metrics, port, connection });
  const server = await startIngressServer({
    host: config.ingressHost,
    port: config.ingressPort,
    intake,
    events,
    whyNotReady: store.whyNotReady,
    metricsPage: async () => ({ type: metrics.registry.contentType, body: await metrics.registry.metrics() }),
  });
  const accounts = config.accounts.map(({ name }) => name);
  const journal = config.journalDir === null ? 'off' : 'on';
  logger.info(
    { host: config.ingressHost, port: server.port, accounts, journal, address, namespace },
    'ingress started',
  );

  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  logger.info('ingress stopping');
  await server.close();
  await store.close();
  logger.info('ingress stopped: all requests have ended, and what is not forwarded is kept');
  // Not by closing the connection: a call to Temporal that is about to be repeated would throw where nobody catches it.
  process.exit(0);
}

/** No call is made here: deliveries are taken whether or not Temporal is up. */
function connectLazily({ taskQueue, accounts }: IngressConfig) {
  const { connectionOptions, namespace, address } = loadTemporalSettings(process.env);
  const connection = Connection.lazy({ ...connectionOptions, ...promptConnectionOptions });
  const client = new Client({ connection, namespace });
  const untracked = new Map(accounts.map((account) => [account.name, account.untracked]));
  // A delivery of an account that has left the settings since it was taken must not start anything.
  const port = createDeliveryPort({ client, taskQueue, untracked: (account) => untracked.get(account) ?? 'ignore' });
  return { connection, port, namespace, address };
}

interface Parts {
  config: IngressConfig;
  logger: Logger;
  metrics: IngressMetrics;
  port: DeliveryPort;
  connection: Connection;
}

async function assemble({ config, logger, metrics, port, connection }: Parts) {
  const { profile, webhookKeys } = config;
  const sealer = createSealer(webhookKeys);
  const verification = createVerification(profile.delivery.verification);
  const events = createEvents(logger, metrics);
  const subscriptions = createAcceptedSubscriptions({
    read: (key) => port.readSubscription(key),
    unseal: sealer.unseal,
    onUnreadable: (key, error) =>
      logger.warn({ ...key, err: error }, 'a secret cannot be opened with the webhook keys'),
  });
  const { check } = createLaterCheck({ subscriptions, verification, sealer });
  const whyTemporalIsOut = () =>
    connection
      .withDeadline(Date.now() + readyLimitMs, () => connection.workflowService.getSystemInfo({}))
      .then(
        () => null,
        () => 'Temporal does not answer, and the journal is off',
      );
  const store = await openIngressStore({ config, routing: { port, check }, metrics, logger, whyTemporalIsOut });
  const intake = createDeliveryIntake({
    accounts: config.accounts,
    readCapability: createWebhookPaths(webhookKeys).readCapability,
    readBody: createDeliveryReader(profile.pointers.delivery, profile.statuses.notOrderStatus),
    ...{ subscriptions, verification, sealer, store, events },
  });
  return { intake, store, events };
}

/** What happens becomes metrics, and log lines without any part of a request. */
function createEvents(logger: Logger, metrics: IngressMetrics): IngressEvents {
  const places = new Set<string>();
  return {
    delivery(fact) {
      metrics.countDelivery(fact);
      const { account, eventType, outcome } = fact;
      if (outcome !== 'accepted') logger.debug({ account, eventType, outcome }, 'delivery not accepted as usual');
    },
    secretSeen({ account, eventType }, sighting) {
      metrics.countSecretSeen(account, sighting.place);
      const place = `${account}/${eventType}/${sighting.place}/${sighting.at}`;
      if (places.has(place) || places.size >= maxPlaces) return;
      places.add(place);
      logger.info({ account, eventType, ...sighting }, 'where the secret of a delivery was seen');
    },
    failure: (error) => logger.error({ err: error }, 'a request failed'),
  };
}

main().catch((error: unknown) => {
  const reason = error instanceof FaretrailError ? error.message : error;
  console.error(reason);
  process.exit(error instanceof ConfigError ? 2 : 1);
});
