import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { keepActivationsOpen } from '../../../src/temporal/open-activations.js';
import { runOf } from '../../../src/temporal/runs.js';
import { bundleOf, useTemporal } from '../../support/worker/runtime.js';
import {
  goSignal,
  type HearingActivities,
  type hearing,
  newsSignal,
  newsUpdate,
  slowQuery,
} from '../../support/worker/small-workflows.js';

const temporal = useTemporal();

/** The query ends after 0.4 s, the local activity `brief` before. */
it.each(['signal', 'update', 'timer', 'activity'] as const)(
  'a run replays that was asked while a local activity ended and news came by %s',
  async (news) => {
    const taskQueue = `hearing-${randomUUID()}`;
    const workflowBundle = await bundleOf('worker/small-workflows.ts');
    const run = await temporal.client.workflow.start<typeof hearing>('hearing', {
      ...{ taskQueue, workflowId: taskQueue, args: [news] },
    });
    const sent: Promise<unknown>[] = [];
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const activities: HearingActivities = {
      async prepare() {
        sent.push(run.query(slowQuery));
        await run.signal(goSignal);
        await sleep(50);
      },
      async brief() {
        begin();
        if (news === 'signal') sent.push(run.signal(newsSignal));
        if (news === 'update') sent.push(runOf(temporal.client, taskQueue).update(newsUpdate, []));
        await sleep(100);
      },
      other: () => begun,
    };
    const worker = await Worker.create({ connection: temporal.native, taskQueue, workflowBundle, activities });
    keepActivationsOpen(worker);
    const heard = await worker.runUntil(async () => {
      const result = await run.result();
      await Promise.all(sent);
      return result;
    });
    await Worker.runReplayHistory({ workflowBundle }, await run.fetchHistory());
    expect(heard).toEqual(['result', 'news']);
  },
);
