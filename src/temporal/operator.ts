import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import pMap from 'p-map';
import type { NeedsPort } from '../activities/index.js';
import { type Need, readNeed } from '../domain/notify/operator.js';
import { publishedDelivery } from '../domain/published.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { operatorEventsId } from '../domain/workflow-ids.js';
import type { operatorEvents } from '../workflows/notify/operator-events.js';
import { runOf } from './runs.js';

const withinMs = 5_000;
const listWithinMs = 30_000;
const pageSize = 1_000;
/** Far more than the operator is told of, so one that is known and not listed has most likely gone. */
const mostListed = 10_000;

/** What a run shows of its need; null also for a parked delivery that no worker has handled yet. */
function toNeed({ type: workflowType, workflowId, memo, searchAttributes }: ShownRun): Need | null {
  const [account] = searchAttributes[names.account] ?? [];
  const [attention] = searchAttributes[names.attention] ?? [];
  const code = workflowType === 'parkedDelivery' ? publishedDelivery(memo)?.reason : attention;
  return readNeed({ workflowType, workflowId, account, code });
}

type ShownRun = Pick<WorkflowExecutionInfo, 'type' | 'workflowId' | 'memo' | 'searchAttributes'>;

/** Temporal, as the events of the operator need it. */
export const createNeedsPort = (client: Client, taskQueue: string): NeedsPort => {
  async function find(condition: string, most: number): Promise<Need[]> {
    const query = `TaskQueue = ${quote(taskQueue)} AND ExecutionStatus = 'Running' AND ${condition}`;
    const found: Need[] = [];
    await client.withDeadline(Date.now() + listWithinMs, async () => {
      for await (const info of client.workflow.list({ query, pageSize })) {
        found.push(...[toNeed(info)].filter((need) => need !== null));
        if (found.length >= most) break;
      }
    });
    return found;
  }
  const read = async (workflowId: string): Promise<Need | null> => {
    const found = await runOf(client, workflowId).find({ withinMs });
    return found?.isOpen ? toNeed(found) : null;
  };
  return {
    list: async () =>
      (
        await Promise.all([
          find(`${names.attention} IS NOT NULL`, mostListed),
          find("WorkflowType = 'parkedDelivery'", pageSize),
        ])
      ).flat(),
    read: (workflowIds) => pMap(workflowIds, read, { concurrency: 10 }),
  };
};

/** Starts the run that tells the operator, unless it runs already. */
export const startOperatorEvents = (client: Client, taskQueue: string): Promise<unknown> =>
  client.withDeadline(Date.now() + withinMs, () =>
    client.workflow.start<typeof operatorEvents>('operatorEvents', {
      workflowId: operatorEventsId(taskQueue),
      taskQueue,
      args: [{}],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: 'Tells the operator what needs a person',
    }),
  );
