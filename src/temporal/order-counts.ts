import type { Client } from '@temporalio/client';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names } from '../domain/search-attribute-names.js';
import type { OrderCounts } from '../domain/subscription-silence.js';

/** Temporal's client has no deadline of its own. */
const deadlineMs = 10_000;

/** Counts, in visibility, how the last changes of an account's orders were found. */
export function createOrderCounts(
  client: Client,
  taskQueue: string,
): (account: AccountName, startedAfter: number) => Promise<OrderCounts> {
  const count = async (conditions: string[]): Promise<number> => {
    const query = conditions.join(' AND ');
    return (await client.withDeadline(Date.now() + deadlineMs, () => client.workflow.count(query))).count;
  };
  return async (account, startedAfter) => {
    const orders = [
      "WorkflowType = 'followOrder'",
      `TaskQueue = '${taskQueue.replace(/[\\']/g, '\\$&')}'`,
      `${names.account} = '${account}'`,
      `StartTime > '${new Date(startedAfter).toISOString()}'`,
    ];
    // The first status of every order is found by a read, so only the end of one says that nothing announced it.
    const read = await count([...orders, `${names.seenBy} = 'read'`, "ExecutionStatus = 'Completed'"]);
    return { read, delivered: await count([...orders, `${names.seenBy} = 'delivery'`]) };
  };
}
