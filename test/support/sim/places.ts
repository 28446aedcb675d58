import { randomUUID } from 'node:crypto';
import { activityInfo, type Info } from '@temporalio/activity';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, vi } from 'vitest';
import { createConnection } from '../../../dev/sim/client/connection.js';
import { Process } from '../../../dev/sim/clock/process.js';
import { Scheduler } from '../../../dev/sim/clock/scheduler.js';
import { failTask } from '../../../dev/sim/server/completion.js';
import type { StartedTask } from '../../../dev/sim/server/execution.js';
import { longOf } from '../../../dev/sim/server/history.js';
import { Namespace } from '../../../dev/sim/server/namespace.js';
import { reset } from '../../../dev/sim/server/reset.js';
import { SimulatedWorker } from '../../../dev/sim/worker/worker.js';
import { repeatUntilClosed } from '../../../src/temporal/connection.js';
import * as workflows from '../../../src/workflows/index.js';
import { interceptors } from '../../../src/workflows/interceptors.js';
import { patient } from '../patience.js';
import type { Place } from './courses.js';
import { type AttemptOf, Gates } from './gates.js';

const names = ['readOrder', 'nextReading', 'notifyUrl'];

const attemptOf = ({ workflowExecution, activityId }: Info): AttemptOf => ({
  runId: workflowExecution?.runId ?? '',
  activityId,
});

// temporal.api.enums.v1.WorkflowTaskFailedCause
const failedByWorker = 14;
const failure = { message: 'held' };

export interface PlaceOptions {
  /** Does a worker take reads? Otherwise they stay scheduled. */
  servesReads: boolean;
}

const queuesOf = (taskQueue: string, { servesReads }: PlaceOptions): string[] => [
  taskQueue,
  ...(servesReads ? [`${taskQueue}.acme`] : []),
  `${taskQueue}.acme.watch`,
];

/** Connections of a client and of workers to the Temporal server of the test run, for many places. */
export interface Connections {
  connection: Connection;
  native: NativeConnection;
  close(): Promise<void>;
}

export async function connect(): Promise<Connections> {
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address, interceptors: repeatUntilClosed() });
  const native = await NativeConnection.connect({ address });
  return { connection, native, close: () => connection.close().then(() => native.close()) };
}

/** The SDK's workers on the Temporal server of the test run. */
export async function startRealPlace(
  { connection, native }: Connections,
  options: PlaceOptions,
): Promise<Place & { close(): Promise<void> }> {
  const taskQueue = `q-${randomUUID()}`;
  const gates = new Gates();
  const createForActivities = (queue: string) =>
    Worker.create({
      connection: native,
      taskQueue: queue,
      activities: gates.activities(...names),
      interceptors: {
        activity: [
          ({ info }) => ({
            inbound: {
              execute: (input, next) => gates.attemptOf.run(attemptOf(info), () => next(input)),
            },
          }),
        ],
      },
    });
  const createForWorkflows = () =>
    Worker.create({ connection: native, taskQueue, workflowBundle: { codePath: inject('workflowBundlePath') } });
  const run = (worker: Worker) => ({ worker, running: worker.run() });
  const others = (await Promise.all(queuesOf(taskQueue, options).map(createForActivities))).map(run);
  let main = run(await createForWorkflows());
  const stop = async ({ worker, running }: typeof main): Promise<void> => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await running;
  };
  const { workflow } = new Client({ connection });
  const startedAt = performance.now();
  return {
    workflow,
    taskQueue,
    gates,
    elapsedMs: () => performance.now() - startedAt,
    over: (promise) => promise,
    quiet: (handle) => quietOnServer(handle, gates, options),
    async reset({ workflowId }, finishedEventId) {
      const client = new Client({ connection });
      await client.workflowService.resetWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
        reason: 'a test',
        requestId: randomUUID(),
        workflowTaskFinishEventId: longOf(finishedEventId),
      });
    },
    settle: (handle) => vi.waitFor(async () => expect(await isReporting(handle, gates)).toBe(false), patient),
    async duringTask(wake, act) {
      await stop(main);
      await wake();
      const { workflowService } = new Client({ connection });
      const about = { namespace: 'default', identity: 'holder' };
      const queue = { taskQueue: { name: taskQueue }, workerVersionCapabilities: {} };
      const { taskToken } = await connection.withDeadline(Date.now() + 60_000, () =>
        workflowService.pollWorkflowTaskQueue({ ...about, ...queue }),
      );
      await act().finally(async () => {
        await workflowService.respondWorkflowTaskFailed({ ...about, taskToken, cause: failedByWorker, failure });
        main = run(await createForWorkflows());
      });
    },
    async withoutWorker(act) {
      await stop(main);
      await act().finally(async () => {
        main = run(await createForWorkflows());
      });
    },
    async close() {
      gates.close();
      await Promise.all([main, ...others].map(stop));
    },
  };
}

/** Is an attempt that has left its gate still on its way to the server? */
async function isReporting(handle: WorkflowHandle, gates: Gates): Promise<boolean> {
  const { raw, runId } = await handle.describe();
  return started(raw.pendingActivities ?? []) !== gates.count(runId);
}

// temporal.api.enums.v1.PendingActivityState: started, or cancellation requested
const started = (activities: readonly { state?: number | null }[]): number =>
  activities.filter(({ state }) => state === 2 || state === 3).length;

/** Waits until two looks in a row show that no task is running and each activity is waiting at its gate. */
async function quietOnServer(handle: WorkflowHandle, gates: Gates, { servesReads }: PlaceOptions): Promise<void> {
  let last = '';
  await vi.waitFor(
    async () => {
      const { raw, historyLength, status, runId } = await handle.describe();
      const activities = raw.pendingActivities ?? [];
      const isComing = ({ activityType, state, attempt }: (typeof activities)[number]): boolean =>
        state === 1 && (attempt ?? 1) === 1 && (servesReads || activityType?.name !== 'readOrder');
      const isBusy = raw.pendingWorkflowTask || activities.some(isComing);
      const isLate = started(activities) !== gates.count(runId);
      const seen = JSON.stringify([historyLength, activities.length, gates.names.length]);
      const isSame = seen === last;
      last = seen;
      if (status.name === 'RUNNING' && (isBusy || isLate || !isSame)) throw new Error('not quiet');
      if (!isSame) throw new Error('look again');
    },
    { ...patient, interval: 60 },
  );
}

const simulatedActivities = (gates: Gates) =>
  Object.fromEntries(
    Object.entries(gates.activities(...names)).map(([name, run]) => [
      name,
      () => gates.attemptOf.run(attemptOf(activityInfo()), run),
    ]),
  );

/** The simulation. */
export function startSimulatedPlace(
  seed: number,
  options: PlaceOptions,
  onProblem: (problem: string) => void,
): Place & { namespace: Namespace } {
  const scheduler = new Scheduler(seed);
  const namespace = new Namespace(scheduler, () => 1);
  const gates = new Gates();
  const taskQueue = 'rides';
  const activities = simulatedActivities(gates);
  const join = (name: string, workflowQueue: string | null, queues: string[]) => {
    const worker = new SimulatedWorker({
      namespace,
      process: new Process(name, scheduler),
      code: { workflows, interceptors },
      activities: Object.fromEntries(queues.map((queue) => [queue, activities])),
      latencyMs: () => 1,
      maxCachedRuns: 100,
      onProblem,
    });
    worker.start(workflowQueue);
    return worker;
  };
  join('activities', null, queuesOf(taskQueue, options));
  let worker = join('worker-1', taskQueue, []);
  const caller = new Process('caller', scheduler);
  const connection = createConnection(namespace, {
    process: caller,
    network: { latencyMs: () => 1, fate: () => 'arrives' as const },
    queries: async (execution, name) => defaultPayloadConverter.toPayload(await worker.query(execution, name, [])),
  });
  const { workflow } = new Client({ connection });
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    promise.then(end, end);
    await scheduler.run(1_000, () => isOver);
    return await promise;
  };
  return {
    workflow,
    taskQueue,
    gates,
    over,
    namespace,
    elapsedMs: () => scheduler.elapsed,
    reach: (elapsedMs) => scheduler.run(Math.max(0, elapsedMs - scheduler.elapsed)),
    quiet: () => scheduler.run(50),
    async reset({ workflowId }, finishedEventId) {
      reset(namespace, namespace.find(workflowId), { finishedId: finishedEventId }, 'a test');
    },
    settle: () => scheduler.run(50),
    async duringTask(wake, act) {
      worker.leave();
      const held: StartedTask[] = [];
      const holder = {
        identity: 'holder',
        isConnected: true,
        takeWorkflowTask: (task: StartedTask) => void held.push(task),
        takeActivity() {},
      };
      namespace.matching.poll('workflow', taskQueue, holder);
      await wake();
      await scheduler.run(50);
      namespace.matching.signOff(holder);
      await act();
      for (const task of held) failTask(namespace, task, failure);
      worker = join('worker-2', taskQueue, []);
    },
    async withoutWorker(act) {
      worker.leave();
      await act();
      await scheduler.run(50);
      worker = join('worker-2', taskQueue, []);
    },
  };
}
