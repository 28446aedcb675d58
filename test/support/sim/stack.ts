import type { Client, WorkflowHandle } from '@temporalio/client';
import { installTimers } from '../../../dev/sim/clock/timers.js';
import { isTokenRequest } from '../../../dev/sim/world/service.js';
import { workerConfig } from '../../../dev/sim/world/settings.js';
import { createWorld, type WorldOptions } from '../../../dev/sim/world/world.js';
import { type OrderId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { FollowOrderInput } from '../../../src/domain/order/input.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import * as workflows from '../../../src/workflows/index.js';
import { interceptors } from '../../../src/workflows/interceptors.js';
import type { FollowOrderLimits } from '../../../src/workflows/order/follow-order.js';

installTimers();

const second = 1_000;
const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Statuses, each with the time since the order was added, in milliseconds. */
export type Script = readonly (readonly [status: string, fromMs: number])[];

/** A run, for a test: its calls let virtual time pass. */
export type SimulatedRun = Pick<
  WorkflowHandle,
  'workflowId' | 'query' | 'signal' | 'executeUpdate' | 'terminate' | 'describe' | 'fetchHistory'
> & { result<T = OrderTrail>(): Promise<T> };

/** Our worker with the pace of production, the sandbox as the service, and a server, on a virtual clock. */
export type SimulatedStack = ReturnType<typeof startSimulatedStack>;

const account = toAccountName('business');
/** Bounds a hang. */
const longestMs = 60 * day;

export function startSimulatedStack(options: Partial<Omit<WorldOptions, 'code'>> = {}) {
  const { config = workerConfig() } = options;
  const world = createWorld(1, { ...options, config, code: { workflows, interceptors } });
  const { scheduler, service, interference } = world;
  let orders = 0;
  /** Awaits a promise while virtual time passes. */
  async function over<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    promise.then(end, end);
    await scheduler.run(longestMs, () => isOver);
    return await promise;
  }
  /** Calls Temporal as a caller does. */
  const ask = <T>(call: (client: Client) => Promise<T>): Promise<T> => over(world.asCaller(call));
  const runOf = (workflowId: string, runId?: string): SimulatedRun => {
    const call = (name: keyof SimulatedRun) =>
      ((...args: never[]) =>
        ask(({ workflow }) => {
          const handle = workflow.getHandle(workflowId, runId);
          return (handle[name] as (...given: never[]) => Promise<unknown>)(...args);
        })) as never;
    return {
      workflowId,
      query: call('query'),
      signal: call('signal'),
      executeUpdate: call('executeUpdate'),
      terminate: call('terminate'),
      describe: call('describe'),
      fetchHistory: call('fetchHistory'),
      result: call('result'),
    };
  };
  /** `details` replace fields of the order. */
  const plays = (orderId: OrderId, script: Script, details = {}): void => {
    const steps = script.map(([status, afterMs]) => ({ status, afterMs }));
    const order = { interface: 'business', orderId, script: steps, details } as const;
    world.asService(() => service.state.orders.add(order, { isCreated: false }));
  };
  const start = (workflowType: string, workflowId: string, args: unknown[]): Promise<SimulatedRun> =>
    ask(({ workflow }) => workflow.start(workflowType, { workflowId, taskQueue: config.taskQueue, args })).then(() =>
      runOf(workflowId),
    );
  return {
    ...{ world, config, account, ask, runOf, plays, start },
    sleep: (ms: number): Promise<void> => scheduler.run(ms),
    /** Begins to follow an order, as a caller does. Null: the service does not know it. */
    follow(script: Script | null, input: Partial<FollowOrderInput> = {}, limits?: FollowOrderLimits) {
      orders += 1;
      const orderId = toOrderId(`o${orders}`);
      if (script) plays(orderId, script);
      const args = [{ account, ...input, orderId }, ...(limits ? [{ limits }] : [])];
      return start('followOrder', followOrderId({ account, orderId }), args);
    },
    /** The service refuses calls in this way for so long from now on. */
    refuses(forMs: number, status: number, more: { body?: object; afterMs?: number; isToken?: boolean } = {}): void {
      const { body, afterMs, isToken = false } = more;
      const retryAfterSeconds = afterMs === undefined ? null : afterMs / second;
      const fails = { status, retryAfterSeconds, ...(body ? { body } : {}) };
      const concerns = (url: string): boolean => isTokenRequest(url) === isToken;
      interference.begin({ link: 'service', fails, concerns, share: 1, forMs });
    },
    /** When calls to the service were made, in milliseconds since the epoch. */
    calls: (isMeant: (url: string) => boolean = (url) => !isTokenRequest(url)): number[] =>
      service.sent.flatMap(({ at, url }) => (isMeant(url) ? [at] : [])),
  };
}
