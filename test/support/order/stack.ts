import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, vi } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { StorePort, WatchingPorts } from '../../../src/activities/index.js';
import { loadWorkerConfig } from '../../../src/config.js';
import type { RideInterface } from '../../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { FollowOrderInput } from '../../../src/domain/order/input.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { createOrderWorker } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { toDataConverter } from '../../../src/sealing/data-converter.js';
import type { PayloadEncryption } from '../../../src/sealing/payload-codec.js';
import { repeatUntilClosed } from '../../../src/temporal/connection.js';
import { repeatWhenLost } from '../../../src/temporal/runs.js';
import type { FollowOrderLimits, FollowOrderProgress, followOrder } from '../../../src/workflows/order/follow-order.js';
import { type AccountExtra, type WorkerEnv, workerEnv } from '../accounts.js';
import { patient } from '../patience.js';
import { quietRuntime } from '../worker/runtime.js';

export type FollowHandle = WorkflowHandleWithFirstExecutionRunId<typeof followOrder>;

/** Where runs are started: at a stack, or at worker processes. */
export interface Place {
  client: Client;
  config: { taskQueue: string };
}

/** Starts to follow an order, as a caller does. */
export function startFollowing(
  { client, config }: Place,
  { account, orderId, ...more }: { account: string; orderId: string } & Omit<FollowOrderInput, 'account' | 'orderId'>,
  progress?: FollowOrderProgress,
): Promise<FollowHandle> {
  const key = { account: toAccountName(account), orderId: toOrderId(orderId) };
  const input: FollowOrderInput = { ...key, ...more };
  return client.workflow.start<typeof followOrder>('followOrder', {
    workflowId: followOrderId(key),
    taskQueue: config.taskQueue,
    args: progress ? [input, progress] : [input],
  });
}

/** A sandbox, a worker in this process, and a client, on the Temporal server of the test run. */
export type OrderStack = Awaited<ReturnType<typeof startOrderStack>>;

export interface OrderStackOptions {
  sandbox?: SandboxOptions;
  env?: WorkerEnv;
  /** Of a Temporal server; default: the one that all tests share. */
  address?: string;
  /** When rides show attention; default: as in production. */
  watch?: AccountExtra['watch'];
  businessAs?: string;
  /** The budget of each account; default: one that no test exhausts. */
  requestsPerSecond?: number;
  /** Default: the workflows as they are. */
  workflowBundle?: { code: string };
  /** More options of the SDK's workers. */
  options?: Partial<WorkerOptions>;
  /** In which the worker records changes; default: none. */
  store?: StorePort;
  /** How often the watch does what it does beside polls. */
  watchPace?: WatchingPorts['pace'];
  /** How far the clock of the worker is ahead; default: not at all. */
  clockAheadMs?: number;
}

/** A stack for all tests of a file or a block; it can be used from their `beforeAll` on. */
export function useOrderStack(
  options: OrderStackOptions | (() => OrderStackOptions | Promise<OrderStackOptions>) = {},
): OrderStack {
  const stack = {} as OrderStack;
  beforeAll(async () => {
    Object.assign(stack, await startOrderStack(typeof options === 'function' ? await options() : options));
  });
  afterAll(() => stack.close?.());
  return stack;
}

export const trailOf = (run: Pick<FollowHandle, 'query'>): Promise<OrderTrail> => run.query('orderTrail');

/** Resolves once the trail of a run shows this. */
export const shows = (run: Pick<FollowHandle, 'query'>, about: Partial<OrderTrail> | object): Promise<void> =>
  vi.waitFor(async () => expect(await trailOf(run)).toMatchObject(about), patient);

const toScript = (script: [status: string, afterMs: number][]) =>
  script.map(([status, afterMs]) => ({ status, afterMs }));

export async function startOrderStack({
  sandbox: sandboxOptions,
  env,
  workflowBundle,
  options = {},
  clockAheadMs = 0,
  address = inject('temporalAddress'),
  ...more
}: OrderStackOptions = {}) {
  const { store = 'none', watchPace = {}, ...accountExtra } = more;
  quietRuntime();
  const sandbox = await startSandbox(sandboxOptions);
  const config = loadWorkerConfig(workerEnv(sandbox.url, env, accountExtra));
  const connection = await Connection.connect({ address, interceptors: repeatUntilClosed() });
  const native = await NativeConnection.connect({ address });
  const client = new Client({ connection });
  const rideApi = createRideApi({ profile: config.profile, retryAfterMaxMs: config.retryAfterMaxMs });
  let stop: (() => Promise<void>) | undefined;
  let hasEnded = true;

  async function startWorker(payloads: PayloadEncryption = config.payloads): Promise<void> {
    const worker = await createOrderWorker({
      config: { ...config, payloads },
      rideApi,
      connection: native,
      client: new Client({ connection: native, dataConverter: toDataConverter(payloads) }),
      namespace: 'default',
      workflowBundle: workflowBundle ?? { codePath: inject('workflowBundlePath') },
      options,
      store,
      watchPace,
      now: () => Date.now() + clockAheadMs,
    });
    hasEnded = false;
    const running = worker.run().finally(() => {
      hasEnded = true;
    });
    running.catch(() => undefined); // `stopWorker` rejects with it
    stop = async () => {
      worker.shutdown();
      await running;
    };
  }
  async function stopWorker(): Promise<void> {
    await stop?.();
    stop = undefined;
  }

  await startWorker();
  return {
    sandbox,
    client,
    config,
    /** Is the worker well? */
    isWorkerRunning: () => !hasEnded,
    /** With other keys for payloads than before, if any are given. */
    startWorker,
    stopWorker,
    /** Adds an order with this script to the sandbox; durations in milliseconds of real time. */
    newOrder(at: RideInterface, script: [status: string, afterMs: number][], details: object = {}): string {
      const orderId = randomUUID();
      sandbox.addOrder({ interface: at, orderId, script: toScript(script), details: { ...details } });
      return orderId;
    },
    follow: async (
      at: RideInterface,
      orderId: string,
      more: Partial<FollowOrderInput> = {},
      limits?: FollowOrderLimits,
    ): Promise<FollowHandle> =>
      sentAgain(await startFollowing({ client, config }, { ...more, account: at, orderId }, limits && { limits })),
    async close(): Promise<void> {
      await stopWorker();
      await rideApi.close();
      await native.close();
      await connection.close();
      await sandbox.close();
    },
  };
}

/** In the moment in which a run ends the server may turn an update away; callers send it again, and so do tests. */
function sentAgain(handle: FollowHandle): FollowHandle {
  const send = handle.executeUpdate.bind(handle) as (...asked: unknown[]) => Promise<unknown>;
  const executeUpdate = (...asked: unknown[]) => repeatWhenLost(() => send(...asked));
  return Object.assign(handle, { executeUpdate: executeUpdate as FollowHandle['executeUpdate'] });
}

/** Whatever is read is read because of a message, or because a run continued as new. */
export const slowPolls: OrderStackOptions = {
  env: { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' },
};

export const readStatuses = ({ timeline }: OrderTrail): string[] =>
  timeline.flatMap(({ source, status }) => (source === 'read' ? [status] : []));

/**
 * Resolves once the run has added no event during so many reads of its order. An answer that was on its way during a
 * change may cost one more read before that.
 */
export async function isQuiet(
  { sandbox }: OrderStack,
  { handle, orderId }: { handle: FollowHandle; orderId: string },
  times: number,
): Promise<void> {
  const reads = () => sandbox.ledger({ orderId }).length;
  const readTimes = (before: number) => vi.waitFor(() => expect(reads()).toBeGreaterThan(before + times), patient);
  await readTimes(reads());
  await vi.waitFor(async () => {
    const { historyLength } = await handle.describe();
    await readTimes(reads());
    expect((await handle.describe()).historyLength).toBe(historyLength);
  }, patient);
}
