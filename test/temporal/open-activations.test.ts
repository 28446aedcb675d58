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
const toBytes = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

/** A worker whose core notes what it is told. */
function noting(isReplaying = false) {
  const told: string[] = [];
  const nativeWorker = {
    pollWorkflowActivation: () => Promise.resolve(toBytes(WorkflowActivation.encode({ runId, isReplaying }).finish())),
    pollActivityTask: () =>
      Promise.resolve(
        toBytes(
          ActivityTask.encode({ taskToken: token, start: { isLocal: true, workflowExecution: { runId } } }).finish(),
        ),
      ),
    completeWorkflowActivation: (bytes: Buffer) => {
      const { successful } = WorkflowActivationCompletion.decodeDelimited(bytes);
      told.push(successful?.commands?.length ? 'begun' : 'activation');
      return Promise.resolve();
    },
    completeActivityTask: () => {
      told.push('activity');
      return Promise.resolve();
    },
  };
  keepActivationsOpen({ nativeWorker } as unknown as Worker, 300);
  const complete = (commands: object[]): Promise<void> => {
    const bytes = WorkflowActivationCompletion.encodeDelimited({ runId, successful: { commands } }).finish();
    return nativeWorker.completeWorkflowActivation(Buffer.from(bytes));
  };
  return {
    told,
    async begin() {
      await nativeWorker.pollWorkflowActivation();
      await complete([{ scheduleLocalActivity: { seq: 1 } }]);
    },
    complete: () => complete([]),
    async endActivity() {
      await nativeWorker.pollActivityTask();
      await nativeWorker.completeActivityTask.call(
        null,
        ...([Buffer.from(ActivityTaskCompletion.encodeDelimited({ taskToken: token }).finish())] as unknown as []),
      );
    },
  };
}

it('an activation is completed once the local activity of its run has ended', async () => {
  const worker = noting();
  await worker.begin();
  const completed = worker.complete();
  await sleep(100);
  await worker.endActivity();
  await completed;
  expect(worker.told).toEqual(['begun', 'activity', 'activation']);
});

it('a worker that gives a local activity up completes the activation all the same', async () => {
  const worker = noting();
  await worker.begin();
  const completed = worker.complete();
  await sleep(100);
  expect(worker.told).toEqual(['begun']);
  await completed;
  expect(worker.told).toEqual(['begun', 'activation']);
});

it('a replay waits for no local activity', async () => {
  const worker = noting(true);
  await worker.begin();
  void worker.complete();
  await sleep(50);
  expect(worker.told).toEqual(['begun', 'activation']);
});
