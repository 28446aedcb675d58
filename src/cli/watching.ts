import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FoundRun } from '../temporal/runs.js';
import type { CommandContext, Session } from './command.js';
import { exitCodes, isTransient } from './failure.js';

/** How to watch one kind of run. */
interface Watched<Answer> {
  /** What to say when a person interrupts the command. */
  farewell: string;
  /** What Temporal itself knows. Needs no worker and no task of the run. */
  find(): Promise<FoundRun>;
  /** Queries the run while it is open, else reads its result. Null when no worker answers. */
  ask(found: FoundRun): Promise<Answer | null>;
  /** Prints what is new. Throws `RunFailed`. */
  print(answer: Answer): void;
}

const troubles = {
  noWorker: 'no worker answers; changes appear once one runs: npm run worker',
  noTemporal: 'Temporal cannot be reached; trying again',
};
const lookEveryMs = 1_000;
const askAgainMs = 5_000;

/** Prints each change until the run ends or a person interrupts the command, and gives the exit code. */
export async function watchRun<Answer>(session: Session, watched: Watched<Answer>): Promise<number> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every call to Temporal listens
  const unlisten = session.onInterrupt(() => stop.abort());
  try {
    await session.connection.withAbortSignal(stop.signal, () => printChanges(session, watched, stop.signal));
    return exitCodes.done;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    session.note(watched.farewell);
    return exitCodes.interrupted;
  } finally {
    unlisten();
  }
}

async function printChanges<Answer>(
  context: CommandContext,
  { find, ask, print }: Watched<Answer>,
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined;
  let askFrom = 0;
  let said: keyof typeof troubles | undefined;
  const note = (trouble: keyof typeof troubles): void => {
    signal.throwIfAborted(); // an interrupt fails the call, too
    if (said !== trouble) context.note(context.paint('bad', troubles[trouble]));
    said = trouble;
  };
  for (;;) {
    const found = await unlessTransient(find);
    if (found === undefined) {
      note('noTemporal');
    } else if (!found.isOpen || (found.version !== version && Date.now() >= askFrom)) {
      const answer = await unlessTransient(() => ask(found));
      if (answer === undefined || answer === null) {
        askFrom = Date.now() + askAgainMs;
        note(answer === null ? 'noWorker' : 'noTemporal');
      } else {
        said = undefined;
        version = found.version;
        print(answer);
        if (!found.isOpen) return;
      }
    }
    await sleep(lookEveryMs, undefined, { signal });
  }
}

/** Undefined while Temporal cannot be reached: the run goes on, so the command waits. */
async function unlessTransient<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}
