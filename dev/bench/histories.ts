import type { Client, WorkflowHandle } from '@temporalio/client';

export interface HistorySize {
  events: number;
  bytes: number;
}

/** The history of an order: of all its runs, since a run may continue as new. */
export async function historySizeOf(client: Client, handle: WorkflowHandle, firstRunId: string): Promise<HistorySize> {
  const size = { events: 0, bytes: 0 };
  for (let runId: string | undefined = firstRunId; runId; ) {
    const run: WorkflowHandle = client.workflow.getHandle(handle.workflowId, runId);
    const { status, raw } = await run.describe();
    const { historyLength, historySizeBytes } = raw.workflowExecutionInfo ?? {};
    size.events += Number(historyLength);
    size.bytes += Number(historySizeBytes);
    runId = status.name === 'CONTINUED_AS_NEW' ? await nextRunId(run) : undefined;
  }
  return size;
}

async function nextRunId(run: WorkflowHandle): Promise<string | undefined> {
  const last = (await run.fetchHistory()).events?.at(-1);
  return last?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
}
