import type { Client } from '@temporalio/client';
import { type AttentionCode, attentionCodes } from '../domain/attention.js';
import { searchAttributeNames as names } from '../domain/search-attribute-names.js';

/** How many runs there are, in the whole fleet. */
export interface RunCounts {
  /** Orders that are followed. */
  followed: number;
  /** Runs of any kind that need a person, by the code of their attention. */
  attention: Record<AttentionCode, number>;
}

/** Temporal's client has no deadline of its own. */
const deadlineMs = 2_000;
/** Visibility takes ten calls a second for a whole namespace, and every worker asks. */
const freshMs = 60_000;

/** Counts runs in visibility, at most once a minute however often it is asked. Null while nobody knows. */
export function createRunCounts(
  client: Client,
  taskQueue: string,
  now: () => number = Date.now,
): () => Promise<RunCounts | null> {
  const running = `TaskQueue = '${taskQueue.replace(/[\\']/g, '\\$&')}' AND ExecutionStatus = 'Running'`;
  const count = async (condition: string): Promise<number> => {
    const query = `${running} AND ${condition}`;
    return (await client.withDeadline(Date.now() + deadlineMs, () => client.workflow.count(query))).count;
  };
  const read = async (): Promise<RunCounts> => {
    const followed = await count("WorkflowType = 'followOrder'");
    // The server counts by status alone, so by code is one call each; mostly there is nothing to tell apart.
    const isCalm = (await count(`${names.attention} IS NOT NULL`)) === 0;
    const byCode = async (code: AttentionCode) => [code, isCalm ? 0 : await count(`${names.attention} = '${code}'`)];
    return { followed, attention: Object.fromEntries(await Promise.all(attentionCodes.map(byCode))) };
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
