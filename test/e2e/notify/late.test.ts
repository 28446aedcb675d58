import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createNotifyActivities } from '../../../src/activities/notify.js';
import { lateNoticesId } from '../../../src/domain/workflow-ids.js';
import type { LateArrival } from '../../support/notify/ending-workflows.js';
import { quietRuntime } from '../../support/worker/runtime.js';

const taskQueue = `q-${randomUUID()}`;
let client: Client;
let close: () => Promise<void>;
beforeAll(async () => {
  quietRuntime();
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  client = new Client({ connection });
  const workflowsPath = fileURLToPath(new URL('../../support/notify/ending-workflows.ts', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  const send = async () => ({ kind: 'answered', status: 503, retryAfter: undefined }) as const;
  const activities = createNotifyActivities({ send });
  const worker = await Worker.create({ connection: native, taskQueue, workflowBundle, activities });
  const running = worker.run();
  close = async () => {
    worker.shutdown();
    await running;
    await native.close();
    await connection.close();
  };
});
afterAll(() => close());

async function ending(arrival: LateArrival) {
  const workflowId = randomUUID();
  const start = { workflowId, taskQueue, args: ['https://orders.example.com/', arrival] };
  const { firstExecutionRunId: firstRunId, ...handle } = await client.workflow.start('ending', start);
  const ended = (await client.workflow.getHandle(handle.workflowId).result()) as boolean[];
  const late = (last: number) => client.workflow.getHandle(lateNoticesId({ about: workflowId, firstRunId, last }));
  return { ended, late };
}

const waiting = async (late: ReturnType<Awaited<ReturnType<typeof ending>>['late']>) => {
  const { currentDetails } = await late.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return [...currentDetails.matchAll(/^\| notify (\d), orders\.example\.com \| (\d) \|/gm)].map(([, entry, count]) => [
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
