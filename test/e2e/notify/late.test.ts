import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNotifyActivities } from '../../../src/activities/notify.js';
import { lateNoticesId } from '../../../src/domain/workflow-ids.js';
import { detailsOf } from '../../support/runs.js';
import { bundleOf, runWorker, useTemporal } from '../../support/worker/runtime.js';
import type { LateArrival } from '../../support/worker/small-workflows.js';

const taskQueue = `q-${randomUUID()}`;
const temporal = useTemporal();
let stop: () => Promise<void>;
beforeAll(async () => {
  const workflowBundle = await bundleOf('worker/small-workflows.ts');
  const send = async () => ({ kind: 'answered', status: 503, retryAfter: undefined }) as const;
  const activities = createNotifyActivities({ send });
  stop = await runWorker({ connection: temporal.native, taskQueue, workflowBundle, activities });
});
afterAll(() => stop());

async function ending(arrival: LateArrival) {
  const workflowId = randomUUID();
  const start = { workflowId, taskQueue, args: [{ url: 'https://orders.example.com/', arrival }] };
  const { firstExecutionRunId: firstRunId, ...handle } = await temporal.client.workflow.start('ending', start);
  const ended = (await temporal.client.workflow.getHandle(handle.workflowId).result()) as boolean[];
  const late = (last: number) =>
    temporal.client.workflow.getHandle(lateNoticesId({ about: workflowId, firstRunId, last }));
  return { ended, late };
}

const waiting = async (late: ReturnType<Awaited<ReturnType<typeof ending>>['late']>) => {
  const details = await detailsOf(late);
  return [...details.matchAll(/^\| notify (\d), orders\.example\.com \| (\d) \|/gm)].map(([, entry, count]) => [
    entry,
    count,
  ]);
};

// Two runs must not tell one URL, or it would see events out of order.
it.each<[LateArrival, boolean[], string[][]]>([
  ['news', [false, true], [['0', '2']]],
  [
    'newcomer',
    [true],
    [
      ['0', '1'],
      ['1', '1'],
    ],
  ],
])(
  'what comes while notices are handed over is not lost, and one run alone goes on to tell: %s',
  async (arrival, ended, left) => {
    const run = await ending(arrival);
    expect(run.ended).toEqual(ended);
    await expect.poll(async () => (await run.late(1).describe()).status.name).toBe('CANCELLED');
    expect((await run.late(2).describe()).status.name).toBe('RUNNING');
    expect(await waiting(run.late(2))).toEqual(left);
    await run.late(2).terminate();
  },
);
