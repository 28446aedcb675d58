import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { Cadence } from '../../src/domain/account.js';
import { toAccountName } from '../../src/domain/keys.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/sandbox.js';
import { startDevServer } from '../stack/temporal/dev-server.js';
import { freePort } from '../stack/temporal/free-port.js';
import { databaseBytes } from './database-size.js';
import { type IngressProcess, startIngressProcess } from './ingress-process.js';
import { type BenchSettings, workerEnv } from './settings.js';
import { type BenchOrder, type Side, startOrder } from './sides.js';
import { generation, webhookKeys } from './webhook-load.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

/** The Temporal servers of a bench: a program that starts one for each site, or one running server for all. */
export type TemporalSource = { program: string } | { address: string };

/** The programs and files of the whole bench. */
export interface BenchPlace {
  folder: string;
  temporal: TemporalSource;
  /** The plain tracker's workflows; a side that is not measured needs none. */
  trackerCodePath?: string;
}

export interface SiteOptions extends Pick<BenchSettings, 'requestsPerSecond' | 'moreAccounts'> {
  /** Default: ours. */
  side?: Side;
  /** Worker processes. Default: none, so that runs only take signals. */
  workers?: number;
  /** Default: that of a deployment. */
  cadence?: Cadence;
  sandbox?: SandboxOptions;
  nodeFlags?: readonly string[];
  /** Further settings of the workers. */
  workerEnv?: Record<string, string>;
}

/** What is known of a server that was started for the site; null while it is stopped, and if it was given. */
interface ServerFacts {
  pid: number | null;
  metricsUrl: string | null;
}

/** A new Temporal server with a new database (unless one was given), a new sandbox, and worker processes of one side. */
export interface Site {
  client: Client;
  sandbox: Sandbox;
  workers: readonly WorkerProcess[];
  taskQueue: string;
  env: Record<string, string>;
  temporal: ServerFacts & { stop(): Promise<void>; start(): Promise<void> };
  /** Starts the run of an order. */
  start(order: BenchOrder): Promise<WorkflowHandle>;
  /** The same at the business interface. */
  followOrder(orderId: string): Promise<WorkflowHandle>;
  /** `more`: further settings. Without a journal folder among them the ingress gets a new one. */
  startIngress(more?: Record<string, string>, port?: number): Promise<IngressProcess>;
  startBare(): Promise<IngressProcess>;
  /** NaN if the server was given, since other programs may write to its database. */
  databaseBytes(): number;
  close(): Promise<void>;
}

/** The benches send to one address far more than a service would. */
const limits = { FARETRAIL_DELIVERIES_PER_SECOND: 'off' };

export async function openSite(place: BenchPlace, options: SiteOptions = {}): Promise<Site> {
  const {
    side = 'faretrail',
    workers: count = 0,
    sandbox: sandboxOptions,
    nodeFlags,
    workerEnv: more,
    ...about
  } = options;
  const folder = mkdtempSync(join(place.folder, 'site-'));
  const databaseFile = join(folder, 'temporal.db');
  const temporal = await openTemporal(place.temporal, databaseFile);
  const { address } = temporal;
  const sandbox = await startSandbox(sandboxOptions);
  const { FARETRAIL_TASK_QUEUE: taskQueue = '', ...settings } = workerEnv({
    ...about,
    folder,
    sandboxUrl: sandbox.url,
  });
  const own = { FARETRAIL_TASK_QUEUE: taskQueue, FARETRAIL_WEBHOOK_KEYS: webhookKeys, TEMPORAL_ADDRESS: address };
  const env = { ...settings, ...limits, ...own };
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const worker = { side, address, env: { ...env, ...more }, trackerCodePath: place.trackerCodePath ?? '', nodeFlags };
  const workers = await Promise.all(Array.from({ length: count }, () => startWorkerProcess(worker)));
  const journalDir = () => join(folder, `journal-${randomUUID()}`);
  const start = (order: BenchOrder) => startOrder(side, order, { client, taskQueue, cadence: options.cadence });
  let subscribed: Promise<void> | undefined;
  return {
    ...{ client, sandbox, workers, taskQueue, env, temporal, start },
    followOrder: (orderId) => start({ at: 'business', orderId }),
    async startIngress(given = {}, port = 0) {
      subscribed ??= startSubscription(client);
      await subscribed;
      return await startIngressProcess('faretrail', { ...env, FARETRAIL_JOURNAL_DIR: journalDir(), ...given }, port);
    },
    startBare: () => startIngressProcess('bare', { BENCH_JOURNAL: journalDir() }),
    databaseBytes: () => ('program' in place.temporal ? databaseBytes(databaseFile) : Number.NaN),
    async close() {
      await Promise.all(workers.map((one) => one.stop()));
      await connection.close();
      await sandbox.close();
      await temporal.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openTemporal(
  source: TemporalSource,
  databaseFile: string,
): Promise<Site['temporal'] & { address: string }> {
  if (!('program' in source)) {
    const nothing = async () => undefined;
    return { address: source.address, pid: null, metricsUrl: null, start: nothing, stop: nothing };
  }
  const port = await freePort();
  const startServer = () => startDevServer({ ...source, databaseFile, port, metricsPort: 0 });
  let server: Awaited<ReturnType<typeof startServer>> | undefined = await startServer();
  return {
    address: server.address,
    get pid() {
      return server?.pid ?? null;
    },
    get metricsUrl() {
      return server?.metricsUrl ?? null;
    },
    async start() {
      server = await startServer();
    },
    async stop() {
      await server?.stop();
      server = undefined;
    },
  };
}

/** An ingress reads only the memo of a subscription, so the run needs no worker. */
async function startSubscription(client: Client): Promise<void> {
  const memo: SubscriptionMemo = { accepted: [{ generation, until: null, secrets: [], isSecretLost: true }] };
  await client.workflow.start('subscription', {
    workflowId: subscriptionId({ account: toAccountName('business'), eventType: 'status_changed' }),
    taskQueue: 'nobody-serves-this',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING', // the run of an earlier round, on a given server
    memo: { [subscriptionMemoField]: memo },
  });
}

/** The worker process of a site that has one. */
export function workerOf({ workers: [worker] }: Pick<Site, 'workers'>): WorkerProcess {
  if (!worker) throw new Error('the site has no worker process');
  return worker;
}
