import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { inject, type RunnerTask } from 'vitest';
import { loadWorkerConfig, type WorkerConfig } from '../../../src/config.js';
import { type OrderId, toAccountName, toOrderId, toScope } from '../../../src/domain/keys.js';
import type { FollowOrderInput } from '../../../src/domain/order/input.js';
import { toRideStatus } from '../../../src/domain/order/status.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import type { AccessTokenInput } from '../../../src/domain/token/input.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { createOrderWorker, type OrderWorker } from '../../../src/order-worker.js';
import { createRideApi, type ObtainedToken, type RideApi } from '../../../src/ride-api/ride-api.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { rideStart } from '../../../src/temporal/starts.js';
import type { accessToken } from '../../../src/workflows/access-token.js';
import type { FollowOrderLimits } from '../../../src/workflows/order/follow-order.js';
import type { requestRide } from '../../../src/workflows/ride/request-ride.js';
import { newRide } from '../../sandbox/booking-calls.js';
import { type WorkerEnv, workerEnv } from '../accounts.js';
import { quietRuntime } from '../worker/runtime.js';
import { startFollowing } from './stack.js';

const attempts = 5;

/** A server that skips time. The SDK gives it 5 s to start, in which a Java program may not start on a busy machine. */
export async function startTimeSkippingServer(): Promise<TestWorkflowEnvironment> {
  const executable = { type: 'existing-path' as const, path: inject('timeSkippingServerPath') };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
    } catch (error) {
      if (attempt === attempts || !String(error).includes('did not start within')) throw error;
    }
  }
}

/** The service at a given instant of virtual time, in milliseconds since the order was first read. May throw. */
export type ScriptedService = (elapsedMs: number, now: number) => OrderReading;

/** A worker on a server that skips time, at production cadence; the service is a function of virtual time. */
export type TimeSkippingStack = Awaited<ReturnType<typeof startTimeSkippingStack>>;

/** What the worker did, and does. */
interface Played {
  /** Instants, in virtual milliseconds, at which orders were read and tokens requested. */
  reads: number[];
  tokenRequests: number[];
  /** What a token request does; default: a token of an hour. */
  onTokenRequest: (now: number) => Omit<ObtainedToken, 'requestedAt'>;
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
  await stack.close();
  return await start();
}

/**
 * For a test that waits in virtual time. On a busy machine the server stops skipping time in the middle of some tests (see `skipsTime`); then a
 * second try must have a new one.
 */
export const virtualTime = { timeout: 60_000, retry: 2 };

export async function startTimeSkippingStack(more: WorkerEnv = {}) {
  quietRuntime();
  const env = await startTimeSkippingServer();
  const searchAttributes = Object.fromEntries(Object.values(searchAttributeNames).map((name) => [name, keyword]));
  await env.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  const services = new Map<string, ScriptedService>();
  const stack: Played = {
    reads: [],
    tokenRequests: [],
    onTokenRequest: () => ({ accessToken: randomUUID(), lifetimeMs: 3_600_000, grantedScope: null }),
  };
  const cadence = { FARETRAIL_POLL_ACTIVE_MS: '', FARETRAIL_POLL_RESERVED_MS: '', FARETRAIL_POLL_PUSHED_MS: '' };
  const config = loadWorkerConfig(workerEnv('http://127.0.0.1:1', { ...cadence, ...more }));
  const worker = await startWorker(env, config, services, stack);
  const partner = config.accounts.find(({ name }) => name === 'partner');
  const credentialId = createSealer(config.sealingKeys).keyedHash(partner?.clientId ?? '', partner?.clientSecret ?? '');
  const running = worker.run();
  return Object.assign(stack, {
    env,
    taskQueue: taskQueueOf(worker),
    /** Of the account `partner`. */
    credentialId,
    async start(service: ScriptedService, more: Partial<FollowOrderInput> = {}, limits?: FollowOrderLimits) {
      const orderId = randomUUID();
      services.set(orderId, service);
      const place = { client: env.client, config: { taskQueue: taskQueueOf(worker) } };
      return await startFollowing(place, { account: 'partner', ...more, orderId }, limits && { limits });
    },
    /** Starts a ride whose create succeeds at once; the service plays its order. */
    async startRide(service: ScriptedService) {
      const input = { account: toAccountName('business'), requestId: randomUUID(), order: newRide() };
      services.set(orderOfRide(input.requestId), service);
      const { args, ...options } = rideStart(input, taskQueueOf(worker));
      return await env.client.workflow.start<typeof requestRide>('requestRide', { ...options, args });
    },
    /** Starts a token lease of this account, which need not exist elsewhere. */
    async startLease(more: Partial<AccessTokenInput> = {}) {
      const key = { account: toAccountName('partner'), scope: toScope(randomUUID()), credentialId };
      return await env.client.workflow.start<typeof accessToken>('accessToken', {
        workflowId: accessTokenId(key),
        taskQueue: taskQueueOf(worker),
        args: [{ ...key, ...more }],
      });
    },
    async close() {
      worker.shutdown();
      await running;
      await env.teardown();
    },
  });
}

const orderOfRide = (requestId: string): OrderId => toOrderId(`of-${requestId}`);

const taskQueueOf = ({ workers: [first] }: OrderWorker): string => first?.options.taskQueue ?? '';

async function startWorker(
  env: TestWorkflowEnvironment,
  config: WorkerConfig,
  services: Map<string, ScriptedService>,
  stack: Played,
): Promise<OrderWorker> {
  // The server's clock: that of this process stands still while time is skipped.
  const startedAt = new AsyncLocalStorage<number>();
  const now = () => startedAt.getStore() ?? Number.NaN;
  const execute: ActivityInboundCallsInterceptor['execute'] = async (input, next) =>
    startedAt.run(await env.currentTimeMs(), () => next(input));
  const firstRead = new Map<string, number>();
  const rideApi: RideApi = {
    ...createRideApi({ profile: config.profile }),
    async requestToken() {
      stack.tokenRequests.push(now());
      return { ...stack.onTokenRequest(now()), requestedAt: now() };
    },
    async readOrder(_account, orderId) {
      stack.reads.push(now());
      const since = firstRead.get(orderId) ?? now();
      firstRead.set(orderId, since);
      const service = services.get(orderId);
      if (!service) throw new Error(`no script for ${orderId}`);
      return service(now() - since, now());
    },
    async callOperation(_account, { operation, requestId }) {
      const orderId = orderOfRide(requestId.slice(requestId.lastIndexOf('.') + 1));
      return { operation, status: 201, body: null, orderId };
    },
    async createSubscriber(_account, { deliveryAddress }) {
      const at = new Date(now()).toISOString();
      return { id: randomUUID(), secretId: randomUUID(), deliveryAddress, createdAt: at, updatedAt: at };
    },
    close: async () => undefined,
  };
  return await createOrderWorker({
    config,
    rideApi,
    now,
    connection: env.nativeConnection,
    client: env.client,
    namespace: 'default',
    options: {
      interceptors: { activity: [() => ({ inbound: { execute } })] },
      // This server loses a task that it gives to a poll which autoscaling withdraws, and its clock stands still meanwhile.
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 4 },
      workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: 4 },
    },
    workflowBundle: { codePath: inject('workflowBundlePath') },
  });
}
