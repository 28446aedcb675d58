import { setMaxListeners } from 'node:events';
import type { CommandContext, Session } from './command.js';
import { exitCodes, isTransient } from './failure.js';

/** A look reads what Temporal knows of the run, which costs the run nothing; the command queries the run only after a change. */
export const lookEveryMs = 1_000;

/** Watches until the end or until a person interrupts it, then says `farewell`, and gives the exit code. */
export async function untilInterrupted(
  context: CommandContext,
  session: Session,
  farewell: string,
  watch: (signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every call to Temporal listens
  const unlisten = context.onInterrupt(() => stop.abort());
  try {
    await session.connection.withAbortSignal(stop.signal, () => watch(stop.signal));
    return exitCodes.done;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    context.note(farewell);
    return exitCodes.interrupted;
  } finally {
    unlisten();
  }
}

/** Undefined while Temporal or a worker cannot be reached. The run goes on meanwhile, so the command waits. */
export async function unlessTransient<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}
