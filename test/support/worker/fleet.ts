import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { inject } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/sandbox.js';
import type { RideInterface } from '../../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { loadTemporalSettings } from '../../../src/temporal/connection.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { type WorkerEnv, workerEnv } from '../accounts.js';
import type { FollowHandle } from '../order/stack.js';
import type { RidePlace } from '../ride/rides.js';
import { startWorkerProcess, type WorkerProcess } from './process.js';

/** Worker processes and a sandbox, on the Temporal server of the test run. */
export interface Fleet {
  sandbox: Sandbox;
  client: Client;
  env: WorkerEnv;
  /** As the helpers for runs want it. */
  place: RidePlace;
  workers: WorkerProcess[];
  /** Follows `count` new orders, by turns at both interfaces or those given, that all run through this script. */
  followOrders(
    count: number,
    script: [status: string, afterMs: number][],
    interfaces?: readonly RideInterface[],
  ): Promise<FollowHandle[]>;
  addWorker(): Promise<WorkerProcess>;
  close(): Promise<void>;
}

interface FleetOptions {
  sandbox?: SandboxOptions;
  env?: WorkerEnv;
  /** The budget of each account. */
  requestsPerSecond?: number;
  /** Default: the server of the test run. */
  address?: string;
}

export async function startFleet(
  size: number,
  { sandbox: sandboxOptions, env: extra, requestsPerSecond, address = inject('temporalAddress') }: FleetOptions = {},
): Promise<Fleet> {
  const sandbox = await startSandbox(sandboxOptions);
  const connection = await Connection.connect({ address });
  const env = workerEnv(
    sandbox.url,
    { TEMPORAL_ADDRESS: address, FARETRAIL_LOG_LEVEL: 'info', ...extra },
    requestsPerSecond,
  );
  const client = new Client({ connection, dataConverter: loadTemporalSettings(env).dataConverter });
  const workers = await Promise.all(Array.from({ length: size }, () => startWorkerProcess(env)));
  return {
    sandbox,
    client,
    env,
    place: { client, config: { taskQueue: env.FARETRAIL_TASK_QUEUE ?? '' } },
    workers,
    async addWorker() {
      const worker = await startWorkerProcess(env);
      workers.push(worker);
      return worker;
    },
    followOrders(count, script, interfaces = ['partner', 'business']) {
      const steps = script.map(([status, afterMs]) => ({ status, afterMs }));
      const starts = Array.from({ length: count }, (_, index) => {
        const at = interfaces[index % interfaces.length] ?? 'business';
        const key = { account: toAccountName(at), orderId: toOrderId(randomUUID()) };
        sandbox.addOrder({ interface: at, orderId: key.orderId, script: steps });
        return client.workflow.start<typeof followOrder>('followOrder', {
          workflowId: followOrderId(key),
          taskQueue: env.FARETRAIL_TASK_QUEUE ?? '',
          args: [key],
        });
      });
      return Promise.all(starts);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await connection.close();
      await sandbox.close();
    },
  };
}
