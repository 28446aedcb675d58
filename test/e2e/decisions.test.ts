import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { readDecisions } from '../../src/temporal/runs.js';
import { bundleOf, useTemporal } from '../support/worker/runtime.js';
import type { renewed } from '../support/worker/small-workflows.js';

const temporal = useTemporal();
const as = (identity: string) => new Client({ connection: temporal.client.connection, identity });

it('who decided is known across continue-as-new, and of a cancel or a termination outside of our commands', async () => {
  const taskQueue = `decided-${randomUUID()}`;
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const worker = await Worker.create({ connection: temporal.native, taskQueue, workflowBundle });
  const run = { taskQueue, workflowId: taskQueue };
  await worker.runUntil(async () => {
    await as('anna').workflow.start<typeof renewed>('renewed', { ...run, args: [2] });
    const latest = temporal.client.workflow.getHandle(taskQueue);
    await expect
      .poll(async () => (await latest.fetchHistory()).events?.at(-1)?.timerStartedEventAttributes)
      .toBeTruthy();
  });
  await as('ben').workflow.getHandle(taskQueue).cancel();
  await as('cleo').workflow.getHandle(taskQueue).terminate();
  const decisions = await readDecisions(temporal, taskQueue);
  expect(decisions.map(({ what, by }) => [what, by])).toEqual([
    ['start', 'anna'],
    ['cancel', 'ben'],
    ['terminate', 'cleo'],
  ]);
  const times = decisions.map(({ at }) => Date.parse(at));
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(Math.abs(Date.now() - (times[0] ?? 0))).toBeLessThan(60_000);
});
