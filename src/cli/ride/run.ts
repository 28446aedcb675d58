import type { RideHandle, RideResult } from '../../client/index.js';
import type { RequestRideInput } from '../../domain/ride/input.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { type FoundRun, runOf } from '../../temporal/runs.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure, tellFailure } from '../failure.js';

/** What the ride of this request id was when it was asked for. */
export type RideStart = 'started' | 'alreadyRequested' | 'alreadyEnded';

/** The ride as other services see it. */
export const rideOf = ({ rides }: Session, { account, requestId }: RequestRideKey): RideHandle =>
  rides.getRide(account, requestId);

const findRide = ({ client }: Session, key: RequestRideKey): Promise<FoundRun | undefined> =>
  runOf(client, requestRideId(key)).find({ withinMs: callTimeoutMs });

/** The run of a ride that there must be. Throws `CliFailure` NotRequested. */
export async function getRide(session: Session, key: RequestRideKey): Promise<FoundRun> {
  const found = await findRide(session, key);
  if (found) return found;
  const { account, requestId } = key;
  throw new CliFailure(
    'NotRequested',
    `Temporal remembers no ride ${requestId} of account ${account}; order it with: faretrail ride request ${account}`,
  );
}

/** Asks for a ride; a request id that was used before starts nothing. */
export async function startRide(session: Session, input: RequestRideInput): Promise<RideStart> {
  const before = await findRide(session, input); // only for the wording: the start itself is idempotent
  await session.within(callTimeoutMs, () => session.rides.request(input));
  if (before === undefined) return 'started';
  return before.isOpen ? 'alreadyRequested' : 'alreadyEnded';
}

/** The result of a ride that has ended. Throws `RunFailed` with the words of the service beside ours. */
export const readRideResult = (session: Session, key: RequestRideKey): Promise<RideResult> =>
  session.within(callTimeoutMs, () => rideOf(session, key).result()).catch(tellFailure);
