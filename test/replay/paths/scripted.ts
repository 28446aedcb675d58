import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { inject } from 'vitest';
import { accountQueueOf, watchQueueOf } from '../../../src/domain/task-queues.js';
import type { OrderStack } from '../../support/order/stack.js';
import { runWorker } from '../../support/worker/runtime.js';
import type { Path, RecordedRun } from './path.js';

type Act = () => unknown;

/** What activities do, by their names: always the same, or one thing after the other and the last one again and again. */
type Script = Record<string, Act | Act[]>;

/** Where the activities of runs keep to a script. Its worker runs unless the path has stopped it. */
export type Scripted = Pick<OrderStack, 'client' | 'config' | 'stopWorker' | 'startWorker'>;

/** A path whose activities do what the service, the store, a receiver or a worker does too seldom to wait for it. */
export const scripted =
  (script: Script, go: (place: Scripted, stack: OrderStack) => Promise<RecordedRun>): Path =>
  async (stack) => {
    const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
    const taskQueue = `scripted-${randomUUID()}`;
    const ofAccount = [accountQueueOf(taskQueue, 'business'), watchQueueOf(taskQueue, 'business')];
    const queues = Object.keys(script).length > 0 ? ofAccount : []; // the SDK starts no worker that has nothing to do
    const worker = { connection, activities: played(script), shutdownGraceTime: 0, ...promptHeartbeats };
    const workflowBundle = { codePath: inject('workflowBundlePath') };
    let stops: (() => Promise<void>)[] = [];
    const startWorker = async (): Promise<void> => {
      const all: WorkerOptions[] = [{ taskQueue, workflowBundle }, ...queues.map((queue) => ({ taskQueue: queue }))];
      stops = await Promise.all(all.map((options) => runWorker({ ...worker, ...options })));
    };
    const stopWorker = async (): Promise<void> => void (await Promise.all(stops.splice(0).map((stop) => stop())));
    await startWorker();
    try {
      return await go({ client: stack.client, config: { ...stack.config, taskQueue }, startWorker, stopWorker }, stack);
    } finally {
      await stopWorker();
      await connection.close();
    }
  };

function played(script: Script): Record<string, () => Promise<unknown>> {
  const play = (acts: Act[]) => {
    const left = [...acts];
    return async () => (left.length > 1 ? left.shift() : left[0])?.();
  };
  return Object.fromEntries(Object.entries(script).map(([name, acts]) => [name, play([acts].flat())]));
}

/** An activity learns of its cancellation by a heartbeat. */
const promptHeartbeats = { defaultHeartbeatThrottleInterval: 200, maxHeartbeatThrottleInterval: 200 };

/** A worker that died in an activity: nothing comes until its time is over, or the run cancels it. */
export async function silent(): Promise<never> {
  const context = Context.current();
  const beating = setInterval(() => context.heartbeat(), 200);
  return await context.cancelled.finally(() => clearInterval(beating));
}

/** What a person does who ends an activity from outside, or an attempt that cannot be repeated. */
export function fails(type = 'EndedFromOutside', ...details: unknown[]): never {
  throw ApplicationFailure.nonRetryable('it failed', type, ...details);
}

/** The same answer, which may take a while. */
export const answers =
  (answer: unknown, afterMs = 0) =>
  async (): Promise<unknown> => {
    await sleep(afterMs);
    return answer;
  };
