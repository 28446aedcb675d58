import type { AskOptions } from '../client/index.js';
import { hasCode } from '../temporal/run-errors.js';
import type { Session } from './command.js';
import { CliFailure } from './failure.js';
import { hasWorker, mainQueue, noWorkerText } from './workers-alive.js';

/** How long a person waits for the answer of a run. */
const answerWithinMs = 30_000;

/** An update of a run, and what a person is told of it. */
export interface SentUpdate<Answer> {
  /** Was the run open a moment ago? */
  isOpen: boolean;
  send(inTime: AskOptions): Promise<Answer>;
  /** Tells the answer, and gives the exit code. */
  tell(answer: Answer): number;
  /** Tells of a run that takes no updates any more, and gives the exit code. */
  tellEnded(): Promise<number>;
  /** Ends a sentence that begins with "no answer within 30 s". */
  noAnswer(): Promise<string> | string;
}

/** Sends an update to an open run and tells what came of it. Throws `CliFailure` NoWorker and NoAnswer. */
export async function sendUpdate<Answer>(session: Session, update: SentUpdate<Answer>): Promise<number> {
  if (!update.isOpen) return await update.tellEnded();
  const queue = mainQueue(session);
  // Sent all the same, it would wait at the server for nobody knows how long, and then act.
  if (!(await hasWorker(session, queue))) throw new CliFailure('NoWorker', `nothing was sent: ${noWorkerText(queue)}`);
  try {
    return update.tell(await update.send({ withinMs: answerWithinMs }));
  } catch (error) {
    if (hasCode(error, 'AlreadyEnded', 'NotFound')) return await update.tellEnded(); // ended meanwhile
    if (!hasCode(error, 'NoAnswer')) throw error;
    throw new CliFailure('NoAnswer', `no answer within ${answerWithinMs / 1_000} s${await update.noAnswer()}`);
  }
}
