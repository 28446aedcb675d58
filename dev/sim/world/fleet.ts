// Worker processes with the real activities on simulated connections.
import { Client, type ConnectionLike } from '@temporalio/client';
import { createTemporalClock, passedAtServer } from '../../../src/activities/index.js';
import type { WorkerConfig } from '../../../src/config.js';
import { accountQueueOf, watchQueueOf } from '../../../src/domain/task-queues.js';
import { createActivities } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { toDataConverter } from '../../../src/sealing/data-converter.js';
import { monotonicMs } from '../clock/clocks.js';
import { Process } from '../clock/process.js';
import type { Code } from '../sdk/run.js';
import type { Namespace } from '../server/namespace.js';
import { type ActivityFunctions, SimulatedWorker, type WorkerParts } from '../worker/worker.js';
import type { Service } from './service.js';

export interface FleetParts extends Pick<WorkerParts, 'latencyMs' | 'maxCachedRuns' | 'onProblem'> {
  namespace: Namespace;
  service: Service;
  config: WorkerConfig;
  code: Code;
  connect: (process: Process) => ConnectionLike;
}

/** Starts a worker process, including its watches. */
export function startWorker(name: string, parts: FleetParts): SimulatedWorker {
  const { namespace, service, config, code, connect, ...others } = parts;
  const process = new Process(name, namespace.scheduler);
  return process.enter(() => {
    const server = createTemporalClock(monotonicMs);
    const client = new Client({
      connection: connect(process),
      identity: name,
      dataConverter: toDataConverter(config.payloads),
    });
    const rideApi = createRideApi({ profile: config.profile, http: service.http });
    let worker: SimulatedWorker | undefined;
    const { main, ofAccounts, watching } = createActivities(
      { config, rideApi, client },
      {
        server,
        send: () => Promise.reject(new Error('the simulation has no receivers of notices')),
        isLeaving: () => !process.isAlive,
        async serve(account) {
          const queue = watchQueueOf(config.taskQueue, account);
          if (worker) namespace.matching.poll('activity', queue, worker);
          return {
            async stop() {
              if (worker) namespace.matching.stopPolling('activity', queue, worker);
            },
          };
        },
      },
    );
    const noting = (given: ActivityFunctions): ActivityFunctions =>
      Object.fromEntries(
        Object.entries(given).map(([key, run]) => [
          key,
          (...args: never[]) => {
            server.add(passedAtServer());
            return run(...args);
          },
        ]),
      );
    const accounts = config.accounts.map((account) => account.name);
    const activities = Object.fromEntries([
      [config.taskQueue, noting(main)],
      ...accounts.map((account) => [accountQueueOf(config.taskQueue, account), noting(ofAccounts)]),
    ]);
    const served = Object.fromEntries(
      accounts.map((account) => [
        watchQueueOf(config.taskQueue, account),
        { watchOrder: watching.activities.watchOrder },
      ]),
    );
    worker = new SimulatedWorker({ ...others, namespace, process, code, activities: { ...activities, ...served } });
    worker.start(config.taskQueue, Object.keys(activities));
    void watching.startAll(accounts);
    return worker;
  });
}
