import { isGrpcDeadlineError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { repeatWhenLost } from '../temporal/lost-update.js';
import type { Session } from './command.js';
import { CliFailure } from './failure.js';
import { hasWorker, mainQueue, noWorkerText } from './workers-alive.js';

/** How long a person waits for the answer of a run. */
export const answerWithinMs = 30_000;

/** Sends an update to a run. Throws `CliFailure` NoWorker, and what `toNoAnswer` makes when none came in time. */
export async function sendUpdate<Answer>(
  session: Session,
  send: () => Promise<Answer>,
  toNoAnswer: () => Promise<CliFailure>,
): Promise<Answer> {
  const queue = mainQueue(session);
  // Sent all the same, it would wait at the server for nobody knows how long, and then act.
  if (!(await hasWorker(session, queue))) throw new CliFailure('NoWorker', `nothing was sent: ${noWorkerText(queue)}`);
  try {
    return await session.within(answerWithinMs, () => repeatWhenLost(send));
  } catch (error) {
    const isLate = error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isGrpcDeadlineError(error);
    throw isLate ? await toNoAnswer() : error;
  }
}
