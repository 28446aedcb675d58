import type { AskOptions } from '../client/index.js';
import { hasCode } from '../temporal/run-errors.js';
import type { Session } from './command.js';
import { CliFailure } from './failure.js';
import { hasWorker, mainQueue, noWorkerText } from './workers-alive.js';

/** How long a person waits for the answer of a run. */
const answerWithinMs = 30_000;

/** An update of a run, and how to show its result. */
export interface SentUpdate<Answer> {
  /** Was the run open a moment ago? */
  isOpen: boolean;
  send(inTime: AskOptions): Promise<Answer>;
  /** Shows the answer, and gives the exit code. */
  tell(answer: Answer): number;
  /** Shows a run that has ended, and gives the exit code. */
  tellEnded(): Promise<number>;
  /** The end of the sentence that begins with "no answer within 30 s". */
  noAnswer(): Promise<string> | string;
}

/** Sends an update to an open run and shows the result. Throws `CliFailure` NoWorker and NoAnswer. */
export async function sendUpdate<Answer>(session: Session, update: SentUpdate<Answer>): Promise<number> {
  if (!update.isOpen) return await update.tellEnded();
  const queue = mainQueue(session);
  // Without a worker the server would keep the update for an unknown time, and a later worker would carry it out.
  if (!(await hasWorker(session, queue))) throw new CliFailure('NoWorker', `nothing was sent: ${noWorkerText(queue)}`);
  try {
    return update.tell(await update.send({ withinMs: answerWithinMs }));
  } catch (error) {
    if (hasCode(error, 'AlreadyEnded', 'NotFound')) return await update.tellEnded(); // ended meanwhile
    if (!hasCode(error, 'NoAnswer')) throw error;
    throw new CliFailure('NoAnswer', `no answer within ${answerWithinMs / 1_000} s${await update.noAnswer()}`);
  }
}
