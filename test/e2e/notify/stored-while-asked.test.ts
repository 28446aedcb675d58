import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { bundleOf, useTemporal } from '../../support/worker/runtime.js';
import { slowQuery, type storing } from '../../support/worker/small-workflows.js';

const temporal = useTemporal();

it('a run replays that was asked while its last change became a row', async () => {
  const taskQueue = `storing-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const activities = { recordChangeAtOnce: () => sleep(20, true) };
  const run = await temporal.client.workflow.start<typeof storing>('storing', {
    ...{ taskQueue, workflowId: taskQueue, args: [] },
  });
  const answer = run.query(slowQuery); // waits, and comes with the first task
  answer.catch(() => undefined);
  await sleep(500);
  const worker = await Worker.create({ connection: temporal.native, taskQueue, workflowBundle, activities });
  await worker.runUntil(run.result());
  const history = await run.fetchHistory();
  const tasks = history.events?.filter((event) => event.workflowTaskCompletedEventAttributes).length;
  expect(tasks, 'the answer was reported before the run learnt of the row').toBe(2);
  await Worker.runReplayHistory({ workflowBundle }, history);
});
