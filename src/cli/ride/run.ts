import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { RequestRideInput } from '../../domain/ride/input.js';
import type { RideResult, RideStanding } from '../../domain/ride/ride.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { repeatWhenLost } from '../../temporal/lost-update.js';
import { rideStart } from '../../temporal/starts.js';
import { rideStatusQuery } from '../../workflows/messages.js';
import type { requestRide } from '../../workflows/ride/request-ride.js';
import { wordsOfService } from '../call.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure, RunFailed, toRunFailure } from '../failure.js';
import { toRunTimes } from '../order/run.js';

/** What the ride of this request id was when it was asked for. */
export type RideStart = 'started' | 'alreadyRequested' | 'alreadyEnded';

/** The run of a ride. */
export const rideHandle = ({ client }: Session, key: RequestRideKey) =>
  client.workflow.getHandle<typeof requestRide>(requestRideId(key));

/** Is there a run of it, and is it open? `version` changes whenever anything happened in it. */
async function findRide(
  session: Session,
  key: RequestRideKey,
): Promise<{ isOpen: boolean; version: string } | undefined> {
  try {
    const found = await session.within(callTimeoutMs, () => rideHandle(session, key).describe());
    return { isOpen: toRunTimes(found).isOpen, version: `${found.runId}/${found.historyLength}` };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The same where there must be one. Throws `CliFailure` NotRequested. */
export async function getRide(session: Session, key: RequestRideKey): Promise<{ isOpen: boolean; version: string }> {
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
  const { client, config, within } = session;
  const before = await findRide(session, input); // only for the wording: the start itself is idempotent
  try {
    await within(callTimeoutMs, () =>
      client.workflow.start<typeof requestRide>('requestRide', rideStart(input, config.taskQueue)),
    );
    return before === undefined ? 'started' : 'alreadyRequested';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'alreadyEnded';
    throw error;
  }
}

/** Where an open ride stands; needs a worker. */
export const readStanding = (session: Session, key: RequestRideKey): Promise<RideStanding> =>
  session.within(callTimeoutMs, () => repeatWhenLost(() => rideHandle(session, key).query(rideStatusQuery)));

/** The result of a ride that has ended. Throws `RunFailed` with the words of the service beside ours. */
export async function readRideResult(session: Session, key: RequestRideKey): Promise<RideResult> {
  try {
    return await session.within(callTimeoutMs, () => rideHandle(session, key).result());
  } catch (error) {
    if (error instanceof WorkflowFailedError) throw toRideFailure(error.cause);
    throw error;
  }
}

/** A failure of the ride or of one of its updates. */
export function toRideFailure(cause: unknown): RunFailed {
  const { code, message } = toRunFailure(cause);
  return new RunFailed({ code, message: [message, wordsOfService(cause)].filter((part) => part !== '').join(' ') });
}
