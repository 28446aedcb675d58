import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, QueryNotRegisteredError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { askedAhead } from '../domain/asked-ahead.js';

const failedPrecondition = 9; // gRPC
/** The server's own: a worker has answered the task that carried the update without a word about it. */
const unprocessed = 'UnprocessedUpdate';
/** The SDK's own, which has no type to tell it by: the run has failed before it took messages, since its input was wrong. */
const unheard = 'No registered handler for update';
const tries = 5;
const pauseMs = 200;

/**
 * Sends an update again that the server turned away before the run has seen it: when something happens to a run in the very
 * moment in which it ends or continues as new, or when its worker dies, the server takes that step back. Also a query that
 * a worker turned away, since it came ahead of a task.
 */
export async function repeatWhenLost<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let left = tries; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      if (left === 1 || !isLost(error)) throw error;
      await sleep(pauseMs);
    }
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof WorkflowUpdateFailedError) {
    const { cause } = error;
    if (!(cause instanceof ApplicationFailure)) return false;
    return cause.type === unprocessed || cause.message.startsWith(unheard);
  }
  if (error instanceof QueryNotRegisteredError) return error.message.includes(askedAhead);
  const answer = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return isGrpcServiceError(answer) && answer.code === failedPrecondition;
}
