import { type Client, isGrpcServiceError, QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import type { EarlierRunReader } from '../activities/index.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { leftByRunQuery } from '../workflows/follow-order-messages.js';
import { repeatWhenLost } from './lost-update.js';

/** Temporal's client has no deadline of its own; a worker must load the whole run to answer. */
const deadlineMs = 10_000;

/** Asks closed runs of `followOrder` by a query, which any worker answers from their history. */
export const createEarlierRunReader =
  (client: Client): EarlierRunReader =>
  async ({ runId, ...key }) => {
    const run = client.workflow.getHandle(followOrderId(key), runId);
    const ask = () => client.withDeadline(Date.now() + deadlineMs, () => run.query(leftByRunQuery));
    try {
      return await repeatWhenLost(ask);
    } catch (error) {
      if (cannotSay(error)) return null;
      throw error;
    }
  };

/** gRPC: the run was never begun by a worker, or is gone. */
const finalCodes: readonly number[] = [3 /* INVALID_ARGUMENT */, 5 /* NOT_FOUND */, 9 /* FAILED_PRECONDITION */];

/** Past its retention, failed before it took messages, of another kind, or its history does not fit today's code. */
function cannotSay(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError) return true;
  const answer = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return isGrpcServiceError(answer) && finalCodes.includes(answer.code);
}
