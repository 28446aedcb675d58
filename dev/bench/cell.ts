import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { withPayloadKeys } from '../../src/client/index.js';
import type { Cadence } from '../../src/domain/account.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/sandbox.js';
import { databaseBytes } from './database-size.js';
import { workerEnv } from './settings.js';
import { type BenchOrder, type Side, startOrder } from './sides.js';
import { type BenchServer, openServer, type TemporalSource } from './temporal-source.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

/** The programs and files of the whole bench. */
export interface BenchPlace {
  folder: string;
  temporal: TemporalSource;
  trackerCodePath: string;
}

export interface CellOptions {
  side: Side;
  processes: number;
  cadence: Cadence;
  sandbox?: SandboxOptions;
  nodeFlags?: readonly string[];
  extraEnv?: Record<string, string>;
  /** The budget of each account, and accounts at the partner interface besides the usual two: `partner-1`, `partner-2` ... */
  requestsPerSecond?: number;
  moreAccounts?: number;
  /** The keys with which workers and client encrypt payloads. */
  payloadKeys?: string;
}

/** One side alone: a new server with a new database (unless one was given), a new sandbox, and worker processes. */
export interface Cell {
  server: BenchServer;
  sandbox: Sandbox;
  client: Client;
  workers: readonly WorkerProcess[];
  taskQueue: string;
  start(order: BenchOrder): Promise<WorkflowHandle>;
  /** NaN if the server was given, since other programs may write to its database. */
  databaseBytes(): number;
  close(): Promise<void>;
}

export async function openCell(place: BenchPlace, options: CellOptions): Promise<Cell> {
  const { side, cadence, payloadKeys, requestsPerSecond, moreAccounts } = options;
  const folder = mkdtempSync(join(place.folder, 'cell-'));
  const databaseFile = join(folder, 'temporal.db');
  const server = await openServer(place.temporal, { databaseFile });
  const sandbox = await startSandbox(options.sandbox);
  const env = workerEnv({
    ...{ folder: place.folder, sandboxUrl: sandbox.url, cadence },
    ...(requestsPerSecond && { requestsPerSecond }),
    ...(moreAccounts && { moreAccounts }),
  });
  const encryption: Record<string, string> = payloadKeys
    ? { FARETRAIL_PAYLOAD_KEYS: payloadKeys, FARETRAIL_ENCRYPT_PAYLOADS: 'true' }
    : {};
  const shared = {
    ...options,
    env: { ...env, ...encryption },
    address: server.address,
    trackerCodePath: place.trackerCodePath,
  };
  const taskQueue = env.FARETRAIL_TASK_QUEUE ?? '';
  const connection = await Connection.connect({ address: server.address });
  const client = new Client({ connection, ...(payloadKeys && { dataConverter: withPayloadKeys(payloadKeys) }) });
  const workers = await Promise.all(Array.from({ length: options.processes }, () => startWorkerProcess(shared)));
  return {
    server,
    sandbox,
    client,
    workers,
    taskQueue,
    start: (order) => startOrder(side, order, { client, cadence, taskQueue }),
    databaseBytes: () => ('program' in place.temporal ? databaseBytes(databaseFile) : Number.NaN),
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await connection.close();
      await sandbox.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
