import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import pMap from 'p-map';
import type { NeedsPort } from '../activities/index.js';
import { type Need, type OperatorEventsInput, readNeed } from '../domain/notify/operator.js';
import { publishedDelivery } from '../domain/published.js';
import { searchAttributeNames as names } from '../domain/search-attribute-names.js';
import { operatorEventsId } from '../domain/workflow-ids.js';
import { runOf } from './runs.js';
import { startServing } from './starts.js';
import { attributeOf, listOpen } from './visibility.js';

const withinMs = 5_000;
/** Far more than the operator is told of, so one that is known and not listed has most likely gone. */
const mostListed = { parked: 1_000, others: 10_000 };

/** What a run shows of its need; null also for a parked delivery that no worker has handled yet. */
function toNeed(run: ShownRun): Need | null {
  const { type: workflowType, workflowId, memo } = run;
  const code = workflowType === 'parkedDelivery' ? publishedDelivery(memo)?.reason : attributeOf(run, 'attention');
  return readNeed({ workflowType, workflowId, account: attributeOf(run, 'account'), code });
}

type ShownRun = Pick<WorkflowExecutionInfo, 'type' | 'workflowId' | 'memo' | 'searchAttributes'>;

/** Temporal, as the events of the operator need it. */
export const createNeedsPort = (client: Client, taskQueue: string): NeedsPort => {
  const find = (condition: string, most: number) => listOpen(client, { taskQueue, condition, most }, toNeed);
  const read = async (workflowId: string): Promise<Need | null> => {
    const found = await runOf(client, workflowId).find({ withinMs });
    return found?.isOpen ? toNeed(found) : null;
  };
  return {
    async list() {
      const others = find(`${names.attention} IS NOT NULL`, mostListed.others);
      return [...(await others), ...(await find("WorkflowType = 'parkedDelivery'", mostListed.parked))];
    },
    read: (workflowIds) => pMap(workflowIds, read, { concurrency: 10 }),
  };
};

/** Starts the run that tells the operator, unless it runs already. */
export const startOperatorEvents = (client: Client, taskQueue: string): Promise<void> =>
  startServing(client, 'operatorEvents', {
    workflowId: operatorEventsId(taskQueue),
    taskQueue,
    args: [{} satisfies OperatorEventsInput],
    staticSummary: 'Tells the operator what needs a person',
  });
