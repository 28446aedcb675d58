import { setTimeout as sleep } from 'node:timers/promises';
import type { RideStanding } from '../domain/requested-ride.js';
import { followedAgainText } from '../domain/requested-ride-details.js';
import type { RequestRideKey } from '../domain/workflow-ids.js';
import type { CommandContext, Session } from './command-context.js';
import { plain } from './plain-text.js';
import { getRide, readRideResult, readStanding } from './ride-run.js';
import { resultText } from './ride-view.js';
import { lookEveryMs, unlessTransient, untilInterrupted } from './watching.js';

/** Prints each change of a ride until it ends, and gives the exit code. Throws `RunFailed`. */
export const watchRide = (context: CommandContext, session: Session, key: RequestRideKey): Promise<number> =>
  untilInterrupted(context, session, 'No longer watched; the ride goes on.', (signal) =>
    printChanges(context, session, key, signal),
  );

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

const lineOf = ({ stage, orderId, status, attention, followedAgain }: RideStanding): string =>
  [
    stage,
    ...(orderId === null ? [] : [`order ${plain(orderId)}`]),
    ...(status === null ? [] : [plain(status)]),
    ...(followedAgain === undefined ? [] : [`its following ${plain(followedAgainText(followedAgain))}`]),
    ...(attention === null ? [] : [`attention ${attention.code}: ${plain(attention.message)}`]),
  ].join('  ');
