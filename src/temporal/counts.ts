import type { Client } from '@temporalio/client';
import { type AttentionCode, concernCodes, troubleCodes } from '../domain/attention.js';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { parkedDeliveryId } from '../domain/workflow-ids.js';

/** Counts runs of a task queue in visibility. */
const counterOf = (client: Client, taskQueue: string, withinMs: number) => async (conditions: string[]) => {
  const query = [`TaskQueue = ${quote(taskQueue)}`, ...conditions].join(' AND ');
  return (await client.withDeadline(Date.now() + withinMs, () => client.workflow.count(query))).count;
};

const parkedWithinMs = 5_000;

/** Counts the parked deliveries of an account that wait for a person; also those that no worker has handled yet. */
export const countParked = (client: Client, taskQueue: string, account: AccountName): Promise<number> =>
  counterOf(
    client,
    taskQueue,
    parkedWithinMs,
  )([
    "WorkflowType = 'parkedDelivery'",
    "ExecutionStatus = 'Running'",
    `WorkflowId STARTS_WITH ${quote(parkedDeliveryId({ account, deliveryId: '' }))}`,
  ]);

/** How many runs the whole fleet has. */
export interface RunCounts {
  /** Open runs of `followOrder`. */
  followed: number;
  /** Runs of any kind that need a person, by the code of their attention. */
  attention: Record<AttentionCode, number>;
}

const runsWithinMs = 2_000;
/** Visibility takes ten calls a second for a whole namespace. */
const freshMs = 60_000;

/** Counts runs in visibility, at most once a minute. Null when the last count failed. */
export function createRunCounts(
  client: Client,
  taskQueue: string,
  now: () => number = Date.now,
): () => Promise<RunCounts | null> {
  const countOf = counterOf(client, taskQueue, runsWithinMs);
  const count = (condition: string): Promise<number> => countOf(["ExecutionStatus = 'Running'", condition]);
  const read = async (): Promise<RunCounts> => {
    const followed = await count("WorkflowType = 'followOrder'");
    // The server groups counts by status alone, so each code needs a call of its own; mostly no run needs attention, or only rides do.
    const all = await count(`${names.attention} IS NOT NULL`);
    const byCode = async (codes: readonly AttentionCode[], left: number) =>
      await Promise.all(
        codes.map(async (code) => [code, left > 0 ? await count(`${names.attention} = '${code}'`) : 0] as const),
      );
    const rides = await byCode(concernCodes, all);
    const others = await byCode(troubleCodes, all - rides.reduce((sum, [, runs]) => sum + runs, 0));
    const attention = Object.fromEntries([...rides, ...others]) as RunCounts['attention'];
    return { followed, attention };
  };
  let latest: Promise<RunCounts | null> = Promise.resolve(null);
  let askedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - askedAt < freshMs) return latest;
    askedAt = now();
    latest = read().catch(() => null);
    return latest;
  };
}
