import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RideStanding } from '../domain/requested-ride.js';
import type { RequestRideKey } from '../domain/workflow-ids.js';
import { exitCodes, isTransient } from './cli-failure.js';
import type { CommandContext, Session } from './command-context.js';
import { plain } from './plain-text.js';
import { getRide, readRideResult, readStanding } from './ride-run.js';
import { resultText } from './ride-view.js';

/** A look reads the outline of the run, which costs the run nothing; its standing is asked for only after a change. */
const lookEveryMs = 1_000;

/** Prints each change of a ride until it ends, and gives the exit code. Throws `RunFailed`. */
export async function watchRide(context: CommandContext, session: Session, key: RequestRideKey): Promise<number> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every call to Temporal listens
  const unlisten = context.onInterrupt(() => stop.abort());
  try {
    await session.connection.withAbortSignal(stop.signal, () => printChanges(context, session, key, stop.signal));
    return exitCodes.done;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    context.note('No longer watched; the ride goes on.');
    return exitCodes.interrupted;
  } finally {
    unlisten();
  }
}

async function printChanges(
  context: CommandContext,
  session: Session,
  key: RequestRideKey,
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined;
  let said: string | undefined;
  for (;;) {
    const ride = await unlessTransient(() => getRide(session, key));
    if (ride && !ride.isOpen) break;
    const standing =
      ride && ride.version !== version ? await unlessTransient(() => readStanding(session, key)) : undefined;
    if (standing) version = ride?.version;
    const line = standing && lineOf(standing);
    if (standing && line !== said) context.tell({ change: 'ride', ...standing }, line ?? '');
    said = line ?? said;
    await sleep(lookEveryMs, undefined, { signal });
  }
  const result = await readRideResult(session, key);
  context.tell({ change: 'ended', result }, resultText(result, context.paint));
}

const lineOf = ({ stage, orderId, status, attention }: RideStanding): string =>
  [
    stage,
    ...(orderId === null ? [] : [`order ${plain(orderId)}`]),
    ...(status === null ? [] : [plain(status)]),
    ...(attention === null ? [] : [`attention ${attention.code}: ${plain(attention.message)}`]),
  ].join('  ');

/** Undefined while Temporal or a worker cannot be reached: the ride goes on all the same, so whoever watches waits. */
async function unlessTransient<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}
