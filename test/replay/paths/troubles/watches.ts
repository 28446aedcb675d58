import { randomUUID } from 'node:crypto';
import { toAccountName } from '../../../../src/domain/keys.js';
import { accountWatchId } from '../../../../src/domain/workflow-ids.js';
import { account } from '../../../support/ride/rides.js';
import { continued, isPending } from '../../../support/runs.js';
import { ended, type Paths } from '../path.js';
import { answers, type Scripted, scripted, silent } from '../scripted.js';

const watchOf = (
  { client, config: { taskQueue } }: Scripted,
  workflowId: string = accountWatchId(account, taskQueue),
) => client.workflow.start('accountWatch', { workflowId, taskQueue, args: [{ account }] });

/** A watch that another worker takes over, with its attention. */
const movedWatch = (of: 'first' | 'next') =>
  scripted({ watchOrders: [answers('moved', 2_000), silent] }, async (place) => {
    const handle = await watchOf(place);
    const attention = { code: 'upstreamUnavailable', message: 'away', since: '2030-01-01T00:00:00.000Z' };
    await handle.signal('watchTold', { worker: 'worker', orders: 7, attention } as never);
    await handle.signal('watchTold', 'seven' as never);
    await continued(handle);
    await isPending(handle, 'watchOrders');
    await handle.terminate();
    return { workflowId: handle.workflowId, ...(of === 'first' && { runId: handle.firstExecutionRunId }) };
  });

/** Of the watch of an account, by name. */
export const watchTroubles: Paths = {
  'watch-continued-as-new': movedWatch('first'),
  'watch-after-continue-as-new': movedWatch('next'),
  'watch-with-another-id': scripted({}, (place) => ended(watchOf(place, randomUUID()))),
  'watch-with-the-id-of-another': scripted({}, (place) =>
    ended(watchOf(place, accountWatchId(toAccountName('partner'), place.config.taskQueue))),
  ),
};
