import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Cadence } from '../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../src/domain/subscription/subscription.js';
import { followOrderId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { freePort } from '../stack/temporal/free-port.js';
import { type IngressProcess, startIngressProcess } from './ingress-process.js';
import { workerEnv } from './settings.js';
import { type BenchServer, openServer, type TemporalSource } from './temporal-source.js';
import { generation, webhookKeys } from './webhook-load.js';

/** The programs and files of the whole bench. */
export interface IngressPlace {
  folder: string;
  temporal: TemporalSource;
}

/** A Temporal server that the bench can stop and start, a subscription, and settings for an ingress. */
export interface IngressSite {
  client: Client;
  env: Record<string, string>;
  temporal: { stop(): Promise<void>; start(): Promise<void> };
  /** Null while it is stopped, and if it was given. */
  serverPid(): number | null;
  /** `more`: further settings. Without a journal folder among them the ingress gets a new one. */
  startIngress(more?: Record<string, string>, port?: number): Promise<IngressProcess>;
  startBare(): Promise<IngressProcess>;
  /** Starts the run of an order. Without a worker the run only takes signals. */
  followOrder(orderId: string): Promise<void>;
  close(): Promise<void>;
}

const account = toAccountName('business');
const unused = 'http://127.0.0.1:9';

export async function openSite(
  place: IngressPlace,
  { sandboxUrl = unused, cadence }: { sandboxUrl?: string; cadence?: Cadence } = {},
): Promise<IngressSite> {
  const folder = mkdtempSync(join(place.folder, 'ingress-'));
  const port = await freePort();
  const startServer = () => openServer(place.temporal, { port, databaseFile: join(folder, 'temporal.db') });
  let server: BenchServer | undefined = await startServer();
  const address = server.address;
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const shared = workerEnv({ folder, sandboxUrl, ...(cadence && { cadence }) });
  // The benches send to one address far more than a service would.
  const limits = { FARETRAIL_DELIVERIES_PER_SECOND: 'off', FARETRAIL_NEW_ORDERS_AT_ONCE: 'off' };
  const env = { ...shared, ...limits, FARETRAIL_WEBHOOK_KEYS: webhookKeys, TEMPORAL_ADDRESS: address };
  const taskQueue = shared.FARETRAIL_TASK_QUEUE ?? '';
  await startSubscription(client);
  const journalDir = () => join(folder, `journal-${randomUUID()}`);
  return {
    client,
    env,
    temporal: {
      async stop() {
        await server?.stop();
        server = undefined;
      },
      async start() {
        server = await startServer();
      },
    },
    serverPid: () => server?.pid ?? null,
    startIngress: (more = {}, port = 0) =>
      startIngressProcess('faretrail', { ...env, FARETRAIL_JOURNAL_DIR: journalDir(), ...more }, port),
    startBare: () => startIngressProcess('bare', { BENCH_JOURNAL: journalDir() }),
    async followOrder(orderId) {
      const key = { account, orderId: toOrderId(orderId) };
      await client.workflow.start('followOrder', { workflowId: followOrderId(key), taskQueue, args: [key] });
    },
    async close() {
      await connection.close();
      await server?.stop();
    },
  };
}

/** An ingress reads only the memo of a subscription, so the run needs no worker. */
async function startSubscription(client: Client): Promise<void> {
  const memo: SubscriptionMemo = { accepted: [{ generation, until: null, secrets: [], isSecretLost: true }] };
  await client.workflow.start('subscription', {
    workflowId: subscriptionId({ account, eventType: 'status_changed' }),
    taskQueue: 'nobody-serves-this',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING', // the run of an earlier round, on a given server
    memo: { [subscriptionMemoField]: memo },
  });
}
