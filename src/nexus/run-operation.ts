import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler, type WorkflowStartOptions } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { refuseBadInput } from './refusals.js';

/** Options of the run that answers. `requestId` is the same for a request that comes again. Throws `InvalidInput`. */
type ToStart<W extends Workflow> = (given: unknown, requestId: string) => WorkflowStartOptions<W>;

/**
 * An operation that takes as long as a run does, and has its result or its failure. Any number of callers share a run, so a
 * caller that cancels does not end it. One that has ended before answers at once.
 */
export const runOperation = <W extends Workflow>(
  workflowType: string,
  toStart: ToStart<W>,
): nexus.OperationHandler<unknown, WorkflowResultType<W>> => ({
  async start(context, given) {
    const options = refuseBadInput(() => toStart(given, context.requestId));
    try {
      return await attach<W>(context, workflowType, options);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return nexus.HandlerStartOperationResult.sync(await endOf<W>(options.workflowId));
    }
  },
  async cancel() {},
});

/** Starts a run, or joins the one that goes on, whose end becomes the answer of the operation. */
export const attach = <W extends Workflow>(
  context: nexus.StartOperationContext,
  workflowType: string,
  options: WorkflowStartOptions<W>,
): Promise<nexus.HandlerStartOperationResult<WorkflowResultType<W>>> =>
  new WorkflowRunOperationHandler<unknown, WorkflowResultType<W>>((start) =>
    startWorkflow<W>(start, workflowType, options),
  ).start(context, undefined);

/** What a run that has ended came to: its result, or its failure as that of the operation. */
export async function endOf<W extends Workflow>(workflowId: string): Promise<WorkflowResultType<W>> {
  try {
    return await getClient().workflow.getHandle<W>(workflowId).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const message = error.cause?.message ?? error.message;
    throw new nexus.OperationError('failed', message, error.cause ? { cause: error.cause } : {});
  }
}
