import { setTimeout as sleep } from 'node:timers/promises';
import protocol from '@temporalio/proto';
import type { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { keepActivationsOpen } from '../../src/temporal/open-activations.js';

const { WorkflowActivationCompletion } = protocol.coresdk.workflow_completion;
const { WorkflowActivation } = protocol.coresdk.workflow_activation;
const { ActivityTask } = protocol.coresdk.activity_task;
const { ActivityTaskCompletion } = protocol.coresdk;

const runId = 'run';
const token = Buffer.from('token');
const pinned = 1;
const toBytes = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

const cancelled = (seq: number) => ({ resolveActivity: { seq, result: { cancelled: {} } } });
const result = { resolveActivity: { seq: 1, isLocal: true, result: { completed: {} } } };
const begins = [
  { scheduleActivity: { seq: 7, activityType: 'noActivity' } },
  { requestCancelActivity: { seq: 7 } },
  { scheduleLocalActivity: { seq: 1 } },
];

interface CoreOptions {
  isReplaying?: boolean;
  /** What it gives once `jobs` are answered. Default: the result of the local activity. */
  afterwards?: object[];
  /** It takes no answer to `jobs`. */
  refuses?: boolean;
}

/** A worker whose core notes what it is told. It gives `jobs` at once. */
async function beginning(
  jobs: object[],
  { isReplaying = false, afterwards = [result], refuses = false }: CoreOptions = {},
) {
  const told: string[] = [];
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const activation = (of: object[]) => toBytes(WorkflowActivation.encode({ runId, isReplaying, jobs: of }).finish());
  const activations = [[{ initializeWorkflow: {} }], jobs, afterwards].map(activation);
  const nativeWorker = {
    async pollWorkflowActivation() {
      if (activations.length === 1) await answered;
      return activations.shift() ?? expect.fail('nobody asks so often');
    },
    pollActivityTask: () =>
      Promise.resolve(
        toBytes(
          ActivityTask.encode({ taskToken: token, start: { isLocal: true, workflowExecution: { runId } } }).finish(),
        ),
      ),
    completeWorkflowActivation: (bytes: Buffer) => {
      const { successful } = WorkflowActivationCompletion.decodeDelimited(bytes);
      const isBegun = (successful?.commands?.length ?? 0) > 0;
      told.push(`${isBegun ? 'begun' : 'activation'} ${successful?.versioningBehavior}`);
      if (!isBegun) setTimeout(answer, 10);
      return !isBegun && refuses ? Promise.reject(new Error('refused')) : Promise.resolve();
    },
    completeActivityTask: () => {
      told.push('activity');
      return Promise.resolve();
    },
  };
  keepActivationsOpen({ nativeWorker } as unknown as Worker, 300);
  const jobsNext = async (): Promise<object[]> => {
    const { jobs } = WorkflowActivation.decode(new Uint8Array(await nativeWorker.pollWorkflowActivation()));
    return jobs.map((job) => ({
      resolveActivity: { seq: job.resolveActivity?.seq, isLocal: job.resolveActivity?.isLocal },
    }));
  };
  await jobsNext();
  const successful = { commands: begins, versioningBehavior: pinned };
  await nativeWorker.completeWorkflowActivation(
    Buffer.from(WorkflowActivationCompletion.encodeDelimited({ runId, successful }).finish()),
  );
  return {
    told,
    jobsNext,
    async endActivity() {
      await nativeWorker.pollActivityTask();
      await nativeWorker.completeActivityTask.call(
        null,
        ...([Buffer.from(ActivityTaskCompletion.encodeDelimited({ taskToken: token }).finish())] as unknown as []),
      );
    },
  };
}

const heard = (seq: number, isLocal = false) => ({ resolveActivity: { seq, isLocal } });

it('an activation stays until the local activity of its run has ended, and the run hears of both together', async () => {
  const worker = await beginning([cancelled(7)]);
  const next = worker.jobsNext();
  await sleep(100);
  expect(worker.told).toEqual(['begun 1']);
  await worker.endActivity();
  expect(await next).toEqual([heard(1, true), heard(7)]);
  expect(worker.told).toEqual(['begun 1', 'activity', 'activation 1']);
});

it('a worker that gives a local activity up completes the activation all the same', async () => {
  const worker = await beginning([cancelled(7)]);
  const next = worker.jobsNext();
  await sleep(100);
  expect(worker.told).toEqual(['begun 1']);
  expect(await next).toEqual([heard(1, true), heard(7)]);
  expect(worker.told).toEqual(['begun 1', 'activation 1']);
});

it.each([
  ['of a replay', [cancelled(7)], true],
  ['that says something else', [cancelled(3)], false],
  ['that says something else besides', [cancelled(7), cancelled(3)], false],
  ['that says nothing', [], false],
] as const)('an activation %s goes to its run at once', async (_, jobs, isReplaying) => {
  const worker = await beginning([...jobs], { isReplaying });
  expect(await worker.jobsNext()).toEqual(jobs.map(({ resolveActivity: { seq } }) => heard(seq)));
  expect(worker.told).toEqual(['begun 1']);
});

it('a run that is evicted meanwhile hears of that alone', async () => {
  const worker = await beginning([cancelled(7)], { afterwards: [{ removeFromCache: {} }] });
  expect(await worker.jobsNext()).toHaveLength(1);
});

it('an activation that the core does not take ends the worker', async () => {
  const worker = await beginning([cancelled(7)], { refuses: true });
  await expect(worker.jobsNext()).rejects.toThrow('refused');
});
