import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { inject, type RunnerTask, vi } from 'vitest';
import { loadWorkerConfig, type WorkerConfig } from '../../../src/config.js';
import type { TokenReply } from '../../../src/contracts/token-reply.js';
import { type OrderId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { FollowOrderInput } from '../../../src/domain/order/input.js';
import { toRideStatus } from '../../../src/domain/order/status.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import { watchQueueOf } from '../../../src/domain/task-queues.js';
import type { SeenChange, WatchOrderInput } from '../../../src/domain/watch.js';
import { followOrderId, fromFollowOrderId } from '../../../src/domain/workflow-ids.js';
import { createOrderWorker, type OrderWorker } from '../../../src/order-worker.js';
import { createRideApi, type RideApi } from '../../../src/ride-api/ride-api.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { rideStart } from '../../../src/temporal/starts.js';
import { changeSeenSignal } from '../../../src/workflows/messages.js';
import type { FollowOrderLimits, followOrder } from '../../../src/workflows/order/follow-order.js';
import type { requestRide } from '../../../src/workflows/ride/request-ride.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { type WorkerEnv, workerEnv } from '../accounts.js';
import { patient } from '../patience.js';
import { eventsOf } from '../runs.js';
import { startTimeSkippingServer } from '../server/time-skipping-server.js';
import { quietRuntime, runWorker } from '../worker/runtime.js';
import { type FollowHandle, startFollowing } from './stack.js';

/** The service at a given instant of virtual time, in milliseconds since the order was first read. May throw. */
export type ScriptedService = (elapsedMs: number, now: number) => OrderReading;

/**
 * A worker on a server that skips time, with the patience of production; the service is a function of virtual time. No watch polls: its
 * activity lasts, and this server skips no time meanwhile. Tests give its hints.
 */
export type TimeSkippingStack = Awaited<ReturnType<typeof startTimeSkippingStack>>;

/** A run as far as it gets hints. */
type HintedRun = Pick<FollowHandle, 'workflowId' | 'signal'>;

/** What the worker did, and does. */
interface Played {
  /** Instants, in virtual milliseconds, at which orders were read and tokens requested. */
  reads: number[];
  tokenRequests: number[];
  /** What a token request does; default: a token of an hour. */
  onTokenRequest: (now: number) => TokenReply;
  /** When each order was read first. */
  firstReads: Map<string, number>;
  /** Attempts of activities that have begun, by type. */
  attempts: Map<string, number>;
  /** What runs handed to the watch. */
  taken: WatchOrderInput[];
  /** Does a worker with the watch take orders? */
  hasWatch: boolean;
}

const keyword = 2;

/** A reading of this status. */
export const reading = (rawStatus: string, details: OrderReading['details'] = null): OrderReading => {
  const status = toRideStatus(rawStatus);
  return { status, rawStatus, terminal: ['Completed', 'Cancelled', 'Rejected'].includes(status), details };
};

/** The status of a script `[status, from ms]` at an instant. */
export const scripted =
  (script: [status: string, fromMs: number][]): ScriptedService =>
  (elapsedMs) =>
    reading(script.findLast(([, fromMs]) => fromMs <= elapsedMs)?.[0] ?? 'Pending');

const stepMs = 3_000;

/**
 * Whether the server still skips time. It forgets to let its clock go for work that is under way when a run is closed or an activity
 * cancelled: then time passes as outside, and every later run on this server would wait.
 */
async function skipsTime({ env }: TimeSkippingStack): Promise<boolean> {
  const began = performance.now();
  await env.sleep(stepMs);
  return performance.now() - began < stepMs;
}

/** The test before in this file; a second try is of the same one. */
let before: RunnerTask | undefined;

/** This stack, or what `start` gives when the server of this one has stopped skipping time, or the test or try before has failed. */
export async function onSkippedTime(stack: TimeSkippingStack, task: RunnerTask, start = startTimeSkippingStack) {
  const isSpoilt = before === task || before?.result?.state === 'fail';
  before = task;
  if (!isSpoilt && (await skipsTime(stack))) return stack;
  await stack.close().catch(() => undefined); // a worker may have calls left that such a server does not end
  return await start();
}

/**
 * For a test that waits in virtual time. On a busy machine the server stops skipping time in the middle of some tests
 * (see `skipsTime`), which shows as a test that never ends; then a second try must have a new server. A test that fails
 * in any other way is not tried again.
 */
export const virtualTime = { timeout: 180_000, retry: { count: 2, condition: /^Test timed out/ } };

export async function startTimeSkippingStack(more: WorkerEnv = {}) {
  quietRuntime();
  const server = await startTimeSkippingServer();
  const { env } = server;
  const searchAttributes = Object.fromEntries(Object.values(searchAttributeNames).map((name) => [name, keyword]));
  await env.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  const services = new Map<string, ScriptedService>();
  const stack: Played = {
    reads: [],
    tokenRequests: [],
    onTokenRequest: () => ({ accessToken: randomUUID(), lifetimeMs: 3_600_000 }),
    firstReads: new Map(),
    attempts: new Map(),
    taken: [],
    hasWatch: true,
  };
  const config = loadWorkerConfig(workerEnv('http://127.0.0.1:1', more));
  const worker = await startWorker(env, config, services, stack);
  const partner = config.accounts.find(({ name }) => name === 'partner');
  const credentialId = createSealer(config.sealingKeys).keyedHash(partner?.clientId ?? '', partner?.clientSecret ?? '');
  const running = worker.run();
  const stopTaking = await takeOrders(env, config, stack);
  return Object.assign(stack, {
    env,
    taskQueue: config.taskQueue,
    /** Of the account `partner`. */
    credentialId,
    accounts: config.accounts,
    /** The service plays this order, which a delivery may begin to follow. */
    plays: (orderId: string, service: ScriptedService) => void services.set(orderId, service),
    async start(service: ScriptedService, more: Partial<FollowOrderInput> = {}, limits?: FollowOrderLimits) {
      const orderId = randomUUID();
      services.set(orderId, service);
      return await startFollowing(
        { client: env.client, config },
        { account: 'partner', ...more, orderId },
        limits && { limits },
      );
    },
    /** Starts a ride whose create succeeds at once; the service plays its order. */
    async startRide(service: ScriptedService) {
      const input = { account: toAccountName('business'), requestId: randomUUID(), order: newRide() };
      const orderId = orderOfRide(input.requestId);
      services.set(orderId, service);
      const { args, ...options } = rideStart(input, config.taskQueue);
      const ride = await env.client.workflow.start<typeof requestRide>('requestRide', { ...options, args });
      const order = env.client.workflow.getHandle<typeof followOrder>(followOrderId({ ...input, orderId }));
      return Object.assign(ride, { order });
    },
    /**
     * Plays the watch of the account: skips to each of these instants, in milliseconds after the first read of the last of these orders, and
     * gives each of them a hint then. Await nothing else meanwhile that skips time.
     */
    async hint(orders: HintedRun | readonly HintedRun[], instants: readonly number[]): Promise<void> {
      if (instants.length === 0) return;
      const runs = [orders].flat();
      const firstRead = await vi.waitFor(() => Math.max(...runs.map((run) => firstReadOf(stack, run))), patient);
      for (const instant of instants) {
        const leftMs = firstRead + instant - (await env.currentTimeMs());
        if (leftMs > 0) await env.sleep(leftMs);
        for (const run of runs) await run.signal(changeSeenSignal, hint);
      }
    },
    async close() {
      worker.shutdown();
      await running.finally(stopTaking).finally(server.close);
    },
  });
}

const hint: SeenChange = { streak: null, unchangedAt: null };

function firstReadOf({ firstReads }: Played, { workflowId }: HintedRun): number {
  const firstRead = firstReads.get(fromFollowOrderId(workflowId)?.orderId ?? '');
  if (firstRead === undefined) throw new Error(`${workflowId} has not been read yet`);
  return firstRead;
}

const orderOfRide = (requestId: string): OrderId => toOrderId(`of-${requestId}`);

/** Instants a step apart, in milliseconds: the first after one step, the last not after `untilMs`. */
export const every = (stepMs: number, untilMs: number): number[] =>
  Array.from({ length: Math.floor(untilMs / stepMs) }, (_, index) => (index + 1) * stepMs);

/** Lets no watch begin. */
const withoutWatches: WorkflowClientInterceptor = {
  startWithDetails: async (input, next) =>
    input.workflowType === 'accountWatch' ? { runId: randomUUID(), eagerlyStarted: false } : await next(input),
};

/** Takes the orders that runs hand to the watches of the accounts. */
async function takeOrders(env: TestWorkflowEnvironment, config: WorkerConfig, stack: Played) {
  async function watchOrder(order: WatchOrderInput): Promise<void> {
    if (!stack.hasWatch) await passUntaken(env);
    stack.taken.push(order);
  }
  const stops = await Promise.all(
    config.accounts.map(({ name }) =>
      runWorker({
        connection: env.nativeConnection,
        taskQueue: watchQueueOf(config.taskQueue, name),
        activities: { watchOrder },
        activityTaskPollerBehavior: steadyPolls,
      }),
    ),
  );
  return () => Promise.all(stops.map((stop) => stop()));
}

/**
 * As if no worker had taken the task. The server skips no time while a task waits for a worker, so the last attempt comes after as long as
 * the run waits. An attempt of which it knows when a run continues as new stops its clock for ever, so the first one is over at once.
 */
async function passUntaken({ client }: TestWorkflowEnvironment): Promise<never> {
  const { attempt, workflowExecution: run = { workflowId: '', runId: '' } } = activityInfo();
  const message = 'no worker has taken the order';
  if (attempt === 1) throw ApplicationFailure.create({ message, nextRetryDelay: firstDelayMs });
  if (attempt > 2) throw ApplicationFailure.nonRetryable(message);
  const waitMs = (await eventsOf(client.workflow.getHandle(run.workflowId, run.runId)))
    .flatMap(({ activityTaskScheduledEventAttributes: asked }) => asked ?? [])
    .findLast(({ activityType }) => activityType?.name === 'watchOrder')?.scheduleToStartTimeout?.seconds;
  throw ApplicationFailure.create({ message, nextRetryDelay: Number(waitMs) * 1_000 - firstDelayMs });
}

const firstDelayMs = 1_000;

/** This server loses a task that it gives to a poll which autoscaling withdraws, and its clock stands still meanwhile. */
const steadyPolls = { type: 'simple-maximum', maximum: 4 } as const;

async function startWorker(
  env: TestWorkflowEnvironment,
  config: WorkerConfig,
  services: Map<string, ScriptedService>,
  stack: Played,
): Promise<OrderWorker> {
  // The server's clock: that of this process stands still while time is skipped.
  const startedAt = new AsyncLocalStorage<number>();
  const now = () => startedAt.getStore() ?? Number.NaN;
  const execute: ActivityInboundCallsInterceptor['execute'] = async (input, next) => {
    const { activityType } = activityInfo();
    stack.attempts.set(activityType, (stack.attempts.get(activityType) ?? 0) + 1);
    return startedAt.run(await env.currentTimeMs(), () => next(input));
  };
  const rideApi: RideApi = {
    ...createRideApi({ profile: config.profile }),
    async requestToken() {
      stack.tokenRequests.push(now());
      return stack.onTokenRequest(now());
    },
    async readOrder(_account, orderId) {
      stack.reads.push(now());
      const since = stack.firstReads.get(orderId) ?? now();
      stack.firstReads.set(orderId, since);
      const service = services.get(orderId);
      if (!service) throw new Error(`no script for ${orderId}`);
      return service(now() - since, now());
    },
    async callOperation(_account, { operation, requestId }) {
      const orderId = orderOfRide(requestId.slice(requestId.lastIndexOf('.') + 1));
      return { operation, status: 201, body: null, orderId };
    },
    close: async () => undefined,
  };
  return await createOrderWorker({
    config,
    rideApi,
    now,
    monotonic: now,
    connection: env.nativeConnection,
    client: new Client({ connection: env.connection, interceptors: { workflow: [withoutWatches] } }),
    namespace: 'default',
    options: {
      interceptors: { activity: [() => ({ inbound: { execute } })] },
      activityTaskPollerBehavior: steadyPolls,
      workflowTaskPollerBehavior: steadyPolls,
    },
    workflowBundle: { codePath: inject('workflowBundlePath') },
  });
}
