// Worker processes with the real activities on simulated connections.
import { Client, type ConnectionLike } from '@temporalio/client';
import { createTemporalClock, passedAtServer } from '../../../src/activities/index.js';
import type { WorkerConfig } from '../../../src/config.js';
import type { AccountName } from '../../../src/domain/keys.js';
import { accountQueueOf, budgetShare, watchQueueOf } from '../../../src/domain/task-queues.js';
import { type ActivityPorts, createActivities } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { toDataConverter } from '../../../src/sealing/data-converter.js';
import { monotonicMs } from '../clock/clocks.js';
import { Process } from '../clock/process.js';
import type { Code } from '../sdk/run.js';
import type { Namespace } from '../server/namespace.js';
import { type ActivityFunctions, SimulatedWorker, type WorkerParts } from '../worker/worker.js';
import type { Service } from './service.js';
import { createWatchModel } from './watch-model.js';

export interface FleetParts extends Pick<WorkerParts, 'latencyMs' | 'maxCachedRuns' | 'onProblem'> {
  namespace: Namespace;
  service: Service;
  config: WorkerConfig;
  code: Code;
  connect: (process: Process) => ConnectionLike;
  /** `model`: a cheap substitute for the watch of an account. `none`: no worker takes orders from their runs. */
  watch: 'real' | 'model' | 'none';
  /** Answers the requests of notices. */
  receive: ActivityPorts['send'];
}

/** A worker process that runs. */
export interface RunningWorker {
  process: Process;
  worker: SimulatedWorker;
  /** Gives its watches and its tasks back, as after SIGTERM. Ends within `leavesWithinMs`. */
  leave: () => void;
}

/** As `shutdownGraceTime` of our workers. */
export const leavesWithinMs = 25_000;

/** Starts a worker process, including its watches. */
export function startWorker(name: string, parts: FleetParts): RunningWorker {
  const process = new Process(name, parts.namespace.scheduler);
  let isLeaving = false;
  const worker = process.enter(() => start(process, parts, () => isLeaving || !process.isAlive));
  const leave = (): void => {
    isLeaving = true;
    worker.leave();
    parts.namespace.scheduler.after(leavesWithinMs, () => worker.kill());
  };
  return { process, worker, leave };
}

function start(process: Process, parts: FleetParts, isLeaving: () => boolean): SimulatedWorker {
  const { namespace, service, config, code, connect, watch, receive, ...others } = parts;
  const { name } = process;
  const server = createTemporalClock(monotonicMs);
  const client = new Client({
    connection: connect(process),
    identity: name,
    dataConverter: toDataConverter(config.payloads),
  });
  const rideApi = createRideApi({ profile: config.profile, http: service.http });
  let worker: SimulatedWorker | undefined;
  const serve = (account: AccountName): (() => void) => {
    const queue = watchQueueOf(config.taskQueue, account);
    if (worker) namespace.matching.poll('activity', queue, worker);
    return () => {
      if (worker) namespace.matching.stopPolling('activity', queue, worker);
    };
  };
  const { main, ofAccounts, watching } = createActivities(
    { config, rideApi, client },
    {
      server,
      send: receive,
      isLeaving,
      async serve(account) {
        const end = serve(account);
        return { stop: async () => end() };
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
  const model = createWatchModel({
    namespace,
    client,
    serve: watch === 'none' ? () => () => undefined : serve,
    statusOf: watch === 'none' ? () => undefined : service.statusOf,
  });
  const { watchOrders, nextReading, watchOrder } = watch === 'real' ? watching.activities : model;
  for (const { name: account, requestsPerSecond } of config.accounts)
    namespace.matching.limit(accountQueueOf(config.taskQueue, account), requestsPerSecond * budgetShare);
  const accounts = config.accounts.map((account) => account.name);
  const activities = Object.fromEntries([
    [config.taskQueue, noting(main)],
    ...accounts.map((account) => [accountQueueOf(config.taskQueue, account), noting({ ...ofAccounts, watchOrders })]),
  ]);
  const served = Object.fromEntries(
    accounts.map((account) => [watchQueueOf(config.taskQueue, account), { nextReading, watchOrder }]),
  );
  worker = new SimulatedWorker({ ...others, namespace, process, code, activities: { ...activities, ...served } });
  worker.start(config.taskQueue, Object.keys(activities));
  void watching.startAll(accounts);
  return worker;
}
