import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, inject } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { RideInterface } from '../../../src/domain/account.js';
import { type OrderId, toOrderId } from '../../../src/domain/keys.js';
import { repeatUntilClosed } from '../../../src/temporal/connection.js';
import { loadTemporalSettings } from '../../../src/temporal/settings.js';
import { type WorkerEnv, workerEnv } from '../accounts.js';
import { type FollowHandle, startFollowing } from '../order/stack.js';
import { startWorkerProcess, type WorkerProcess } from './process.js';

/** Worker processes and a sandbox, on the Temporal server of the test run. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Statuses of an order, each so many milliseconds after its start. */
type Script = [status: string, afterMs: number][];

interface FleetOptions {
  sandbox?: SandboxOptions;
  env?: WorkerEnv;
  /** The budget of each account. */
  requestsPerSecond?: number;
  /** Default: the server of the test run. */
  address?: string;
}

/** A fleet for all tests of a file; it can be used from their `beforeAll` on. */
export function useFleet(size: number, options: FleetOptions = {}): Fleet {
  const fleet = {} as Fleet;
  beforeAll(async () => void Object.assign(fleet, await startFleet(size, options)));
  afterAll(() => fleet.close?.());
  return fleet;
}

export async function startFleet(
  size: number,
  { sandbox: sandboxOptions, env: extra, requestsPerSecond, address = inject('temporalAddress') }: FleetOptions = {},
) {
  const sandbox = await startSandbox(sandboxOptions);
  const connection = await Connection.connect({ address, interceptors: repeatUntilClosed() });
  const env = workerEnv(
    sandbox.url,
    { TEMPORAL_ADDRESS: address, FARETRAIL_LOG_LEVEL: 'info', ...extra },
    requestsPerSecond === undefined ? {} : { requestsPerSecond },
  );
  const client = new Client({ connection, dataConverter: loadTemporalSettings(env).dataConverter });
  const place = { client, config: { taskQueue: env.FARETRAIL_TASK_QUEUE ?? '' } };
  function newOrder(at: RideInterface, script: Script): OrderId {
    const orderId = toOrderId(randomUUID());
    sandbox.addOrder({ interface: at, orderId, script: script.map(([status, afterMs]) => ({ status, afterMs })) });
    return orderId;
  }
  const workers = await Promise.all(Array.from({ length: size }, () => startWorkerProcess(env)));
  return {
    sandbox,
    client,
    env,
    /** As the helpers for runs want it. */
    place,
    workers,
    async addWorker(): Promise<WorkerProcess> {
      const worker = await startWorkerProcess(env);
      workers.push(worker);
      return worker;
    },
    newOrder,
    /** Follows `count` new orders, by turns at both interfaces or those given, that all run through this script. */
    followOrders(
      count: number,
      script: Script,
      interfaces: readonly RideInterface[] = ['partner', 'business'],
    ): Promise<FollowHandle[]> {
      const starts = Array.from({ length: count }, (_, index) => {
        const account = interfaces[index % interfaces.length] ?? 'business';
        return startFollowing(place, { account, orderId: newOrder(account, script) });
      });
      return Promise.all(starts);
    },
    async close(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop()));
      await connection.close();
      await sandbox.close();
    },
  };
}
