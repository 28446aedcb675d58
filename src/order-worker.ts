import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  type ActivityInboundCallsInterceptor,
  type NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import * as activities from './activities/index.js';
import { type MonotonicClock, monotonicMs, type WallClock, wallMs } from './clock.js';
import type { WorkerConfig } from './config.js';
import type { Account } from './domain/account.js';
import type { AccountName } from './domain/keys.js';
import { accountQueueOf, budgetShare, watchQueueOf } from './domain/task-queues.js';
import { createNotifySender, type NotifySender } from './notify-http/sender.js';
import type { RideApi } from './ride-api/ride-api.js';
import { toWorkerDataConverter } from './sealing/data-converter.js';
import { createSealer, type Sealer } from './sealing/sealer.js';
import { createWebhookPaths } from './sealing/webhook-paths.js';
import { createAttemptReader } from './temporal/attempts.js';
import { createClaims, createResetReader } from './temporal/claims.js';
import { createDeliveryPort } from './temporal/deliveries.js';
import { replayAside } from './temporal/replays.js';
import { createFollowedOrders, createRequestedRides } from './temporal/ride-runs.js';
import { createTokenLeases } from './temporal/token-leases.js';
import { createWatchPort } from './temporal/watches.js';
import { bundlePath, cachedRuns, workflowTasks } from './temporal/workflow-code.js';

/** Above the 20 s deadline of an HTTP call, so that a call under way ends before the worker does. */
const shutdownGraceTime = 25_000;
/** Then what still runs is abandoned, within the 60 s that platforms usually wait before they kill. */
const shutdownForceTime = 40_000;
/** When all work has ended, the SDK says so to Temporal, and waits for half a minute and more while Temporal does not answer. */
const leaveWithinMs = 5_000;
const lookEveryMs = 500;

/** How many activities an SDK worker has under way. The SDK's default. */
const activitySlots = 100;

/** Open polls of the queue of an account. A fixed number, the same in each process, splits its calls evenly, on which the watch counts:
 *  beside faults, autoscaling had given one of two processes nine tenths of them. */
const pollsOf = ({ requestsPerSecond }: Account): number =>
  Math.min(10, Math.max(2, Math.ceil(requestsPerSecond / 10)));

/** What `OrderWorker` needs of an SDK worker. */
type RunningWorker = Pick<Worker, 'run' | 'shutdown' | 'getState' | 'getStatus' | 'options'>;

/** What a worker is made of. `client` reads and starts token leases. */
interface OrderWorkerParts {
  config: WorkerConfig;
  rideApi: RideApi;
  connection: NativeConnection;
  client: Client;
  namespace: string;
  /** Default: the bundle that a build leaves beside the compiled file; another one has to fit `config.payloads`. */
  workflowBundle?: WorkerOptions['workflowBundle'];
  /** Milliseconds since the epoch. Tests that skip time give the server's clock. */
  now?: WallClock;
  monotonic?: MonotonicClock;
  /** In which changes are recorded. */
  store?: activities.StorePort;
  /** Sees each request of a notice. */
  watchNotices?: (send: NotifySender['send']) => NotifySender['send'];
  /** Counts polls. */
  pollEvents?: activities.PollEvents;
  /** Tests have no hour for the counts of changes. */
  watchPace?: activities.WatchingPorts['pace'];
  /** More options of all SDK workers, such as the size of the workflow cache. */
  options?: Partial<WorkerOptions>;
}

/** One SDK worker for the workflows, and one for each account. */
export interface OrderWorker extends RunningWorkers {
  /** The watches of accounts that this process holds now. */
  watching: Pick<activities.Watching, 'held'>;
}

/** SDK workers that live and end together. */
interface RunningWorkers {
  workers: readonly RunningWorker[];
  /** Resolves when all have drained. When one fails, the others are stopped and drain; then it rejects with that failure.
   *  Not `hasLeft`: Temporal does not answer, and the SDK still holds the connection. */
  run(): Promise<{ hasLeft: boolean }>;
  shutdown(): void;
  /** A worker that drains is alive, even beside one that has failed: a probe must not kill it. */
  isLive(): boolean;
  /** Null while all poll. */
  whyNotPolling(): string | null;
}

/** Creates the workers; nothing runs before `run`. Rejects when the Temporal server refuses them. */
export async function createOrderWorker(parts: OrderWorkerParts): Promise<OrderWorker> {
  const { config, connection, namespace, watchNotices = (send) => send } = parts;
  const unversioned: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    dataConverter: toWorkerDataConverter(config.payloads),
    shutdownGraceTime,
    shutdownForceTime,
    activityTaskPollerBehavior: { type: 'autoscaling' },
    maxConcurrentActivityTaskExecutions: activitySlots,
    ...parts.options,
    interceptors: {
      ...parts.options?.interceptors,
      activity: [...(parts.options?.interceptors?.activity ?? []), () => ({ inbound: { execute: noteServerTime } })],
    },
  };
  const shared = { ...unversioned, ...toVersioning(config) };
  const { maxCachedWorkflows = cachedRuns() } = shared;
  const { origins, secrets, allowsPrivate } = config.notify;
  const keys = secrets?.map(({ key }) => key) ?? [];
  const notifySender = createNotifySender({ origins, allowsPrivate, secrets: keys });
  const server = activities.createTemporalClock(parts.monotonic ?? monotonicMs);
  const noteServerTime: NonNullable<ActivityInboundCallsInterceptor['execute']> = (input, next) => {
    server.add(activities.passedAtServer());
    return next(input);
  };
  const { main, ofAccounts, watching } = createActivities(parts, {
    server,
    send: watchNotices(notifySender.send),
    isLeaving: () => worker.whyNotPolling() !== null,
    serve: (account) =>
      serve({
        ...unversioned, // runs of all versions reach the one watch
        taskQueue: watchQueueOf(config.taskQueue, account),
        activities: {
          nextReading: watching.activities.nextReading,
          watchOrder: watching.activities.watchOrder,
        },
        activityTaskPollerBehavior: { type: 'autoscaling', initial: 1, maximum: 5 },
      }),
  });
  const workflowWorker = Worker.create({
    ...shared,
    maxCachedWorkflows,
    maxConcurrentWorkflowTaskExecutions: workflowTasks(maxCachedWorkflows),
    taskQueue: config.taskQueue,
    workflowBundle: parts.workflowBundle ?? { codePath: bundlePath({ encodesFailures: config.payloads.encrypts }) },
    activities: main,
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    // How long a task waits for the worker that has the run in its cache and may be dead; 10 s by default.
    stickyQueueScheduleToStartTimeout: '1s',
  });
  const accountWorkers = config.accounts.map((account) =>
    Worker.create({
      ...shared,
      taskQueue: accountQueueOf(config.taskQueue, account.name),
      activities: ofAccounts,
      // Kept by the server for the whole fleet; every attempt counts.
      maxTaskQueueActivitiesPerSecond: account.requestsPerSecond * budgetShare,
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: pollsOf(account) },
    }),
  );
  const worker = runTogether(await Promise.all([workflowWorker, ...accountWorkers]), () => notifySender.close());
  return {
    ...worker,
    watching,
    run() {
      const running = worker.run();
      void watching.startAll(config.accounts.map(({ name }) => name));
      return running;
    },
  };
}

/** Runs one more SDK worker until it is stopped; the SDK stops it by itself when the process has to end. */
async function serve(options: WorkerOptions): Promise<{ stop(): Promise<void> }> {
  const worker = await Worker.create(options);
  const running = worker.run().catch(() => undefined);
  return {
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running;
    },
  };
}

/**
 * Pinned by default: for a task that only brings the end of a cancelled activity the SDK reports the default, whatever
 * the workflow says (seen with 1.24.0). `src/workflows/index.ts` says which workflows move with their next task.
 */
const toVersioning = ({ deployment }: WorkerConfig): Pick<WorkerOptions, 'workerDeploymentOptions'> =>
  deployment === null
    ? {}
    : {
        workerDeploymentOptions: {
          version: deployment,
          useWorkerVersioning: true,
          defaultVersioningBehavior: 'PINNED',
        },
      };

type ActivityFunctions = Record<string, (...args: never[]) => Promise<unknown>>;

/** What activities need of the parts of a worker. */
export type ActivityParts = Omit<OrderWorkerParts, 'connection' | 'namespace'>;

export interface ActivityPorts
  extends Pick<NotifySender, 'send'>,
    Pick<activities.WatchingPorts, 'serve' | 'isLeaving'> {
  server: activities.TemporalClock;
}

/**
 * All activities: a new one joins its noun in `src/activities`, a new noun the list at the end. `ofAccounts` need the credentials of an account,
 * and are handed out within its budget; `main` do without, so any worker of the main queue takes them. `watching`: the watches that this
 * process holds.
 */
export function createActivities(
  parts: ActivityParts,
  { send, server, ...watchingPorts }: ActivityPorts,
): { watching: activities.Watching; ofAccounts: ActivityFunctions; main: ActivityFunctions } {
  const { config, rideApi, client, pollEvents = {}, watchPace = {}, store = 'none' } = parts;
  const { now = wallMs, monotonic = monotonicMs } = parts;
  const { taskQueue, profile, webhookKeys, retryAfterMaxMs: longestWaitMs } = config;
  const { maxConcurrentActivityTaskExecutions: slots = activitySlots } = parts.options ?? {};
  const sealer = createSealer(config.sealingKeys);
  const { account, credentialId, accountWith } = holdAccounts(config.accounts, sealer);
  const tokens = activities.createTokenSource({
    leases: createTokenLeases(client, taskQueue),
    unseal: sealer.unseal,
    credentialId,
    monotonic,
    server,
  });
  const quietTimes = activities.createQuietTimes(monotonic);
  const usage = activities.createUsage(monotonic);
  const stores = typeof store === 'object';
  const common = {
    ...{ account, rideApi, now, monotonic, longestWaitMs, quietTimes, usage, stores },
    provenPaths: activities.createProvenPaths(monotonic),
    claims: createClaims(client, stores),
    call: activities.createAuthorizedCall({ tokens, quietTimes, usage, mostWaiting: slots / 2, monotonic }),
  };
  const readOrder = activities.createOrderReader(common);
  const watchPort = createWatchPort(client, taskQueue, config.deployment);
  const watching = new activities.Watching({
    ...{ ...common, ...watchingPorts, readOrder, random: Math.random },
    runs: watchPort,
    worker: client.options.identity,
    events: pollEvents,
    pace: watchPace,
    warn: (message, { error, ...about }) =>
      Runtime.instance().logger.warn(message, { ...about, error: error instanceof Error ? error.message : '' }),
  });
  const { listSubscribers, deleteSubscriber } = profile.operations;
  const ports = {
    ...{ ...common, readOrder, accountWith, send, store },
    unprovenReads: activities.createUnprovenReads({ processes: watchPort.processes, monotonic }),
    startWatch: (name: AccountName) => watching.start(name),
    webhooks: webhookKeys && { ...createSealer(webhookKeys), ...createWebhookPaths(webhookKeys) },
    enabled: { list: listSubscribers.enabled !== false, delete: deleteSubscriber.enabled !== false },
    publicUrls: config.publicUrls,
    seal: sealer.seal,
    refreshEarlyMs: profile.tokens.refreshEarlyMs,
    serverTime: activities.createServerTime({ server, now, attemptStartedAt: createAttemptReader(client) }),
    routes: createDeliveryPort({ client, taskQueue, untracked: (name) => account(name).untracked }),
    orders: createFollowedOrders(client, taskQueue),
    rides: createRequestedRides(client),
    replay: replayAside,
    wasReset: createResetReader(client),
  };
  return {
    watching,
    ofAccounts: {
      ...activities.createTokenActivities(ports),
      ...activities.createOrderActivities(ports),
      ...activities.createCallActivities(ports),
      ...activities.createReceiptActivities(ports),
      ...activities.createSubscriptionActivities(ports),
      ...activities.createDeliveryActivities(ports),
      watchOrders: watching.activities.watchOrders,
    },
    main: {
      ...activities.createFollowingActivities(ports),
      ...activities.createNotifyActivities(ports),
      ...activities.createReplayActivities(ports),
      ...activities.createRideChangeActivities(ports),
      ...activities.createStoreActivities(ports),
      ...activities.createResetActivities(ports),
    },
  };
}

/** The accounts that this process holds. Throws a retryable failure for any other. */
function holdAccounts(accounts: readonly Account[], { keyedHash }: Pick<Sealer, 'keyedHash'>) {
  const held = new Map(accounts.map((one) => [one.name, { one, id: keyedHash(one.clientId, one.clientSecret) }]));
  const find = (name: AccountName) => held.get(name) ?? failNotHeld(name);
  return {
    account: (name: AccountName): Account => find(name).one,
    credentialId: ({ name }: Account): string => find(name).id,
    /** Undefined: this process holds the account with other credentials, or not at all. */
    accountWith: (name: AccountName, id: string): Account | undefined =>
      held.get(name)?.id === id ? held.get(name)?.one : undefined,
  };
}

function failNotHeld(name: AccountName): never {
  throw ApplicationFailure.create({ type: 'AccountNotHeld', message: `This worker holds no account "${name}".` });
}

/** The failure of one stops the others; what these have under way ends well before `run` rejects with it. */
export function runTogether(workers: readonly RunningWorker[], whenStopped: () => Promise<void>): RunningWorkers {
  const failures: unknown[] = [];
  const states = () => workers.map((worker) => worker.getState());
  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  return {
    workers,
    shutdown,
    isLive: () => states().some((state) => state !== 'FAILED'),
    whyNotPolling() {
      if (states().includes('FAILED')) return 'the worker has failed and ends once its calls under way have ended';
      return states().every((state) => state === 'RUNNING') ? null : 'the worker is not polling';
    },
    async run() {
      const left = Promise.all(workers.map((worker) => worker.run().catch(stopOthers)));
      const hasLeft = await Promise.race([left.then(() => true), overdue()]);
      await whenStopped();
      if (failures.length > 0) throw failures[0];
      return { hasLeft };
    },
  };

  async function overdue(): Promise<false> {
    const isOver = (state: string) => state === 'STOPPED' || state === 'FAILED';
    while (!states().every(isOver)) await pause(lookEveryMs, undefined, { ref: false });
    return await pause(leaveWithinMs, false as const, { ref: false });
  }

  function stopOthers(error: unknown): void {
    failures.push(error);
    shutdown();
  }
}
