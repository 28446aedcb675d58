import type { Client } from '@temporalio/client';

/** The histories of a workflow and of all runs that it continues, newest first, each as the list of its events. */
export async function runsOf({ workflow }: Client, workflowId: string): Promise<unknown[][]> {
  const runs: unknown[][] = [];
  const { runId: newest } = await workflow.getHandle(workflowId).describe();
  for (let runId: string | null | undefined = newest; runId; ) {
    const { events } = await workflow.getHandle(workflowId, runId).fetchHistory();
    runs.push(events ?? []);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  }
  return runs;
}
