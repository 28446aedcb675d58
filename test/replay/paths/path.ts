import type { OrderStack } from '../../support/order/stack.js';

/** A run, to its end where it has one, and which run of it to keep. */
export interface RecordedRun {
  workflowId: string;
  runId?: string | undefined;
}

/** One way through the workflows. */
export type Path = (stack: OrderStack) => Promise<RecordedRun>;
export type Paths = Record<string, Path>;

interface Awaitable extends RecordedRun {
  result(): Promise<unknown>;
}

/** The run once it has ended well. */
export async function completed<Run extends Awaitable>(run: Run | Promise<Run>): Promise<Run> {
  const handle = await run;
  await handle.result();
  return handle;
}

/** The run once it has ended, well or not. */
export async function ended<Run extends Awaitable>(run: Run | Promise<Run>): Promise<Run> {
  await completed(run).catch(() => undefined);
  return run;
}

/** The run once it was cancelled. */
export async function cancelled<Run extends Awaitable & { cancel(): Promise<unknown> }>(
  run: Run | Promise<Run>,
): Promise<Run> {
  await (await run).cancel();
  return ended(run);
}

/** The first run of a workflow that has continued as new. */
export const firstRunOf = (run: { workflowId: string; firstExecutionRunId: string }): RecordedRun => ({
  workflowId: run.workflowId,
  runId: run.firstExecutionRunId,
});
