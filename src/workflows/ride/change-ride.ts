import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { RideChangeActivities } from '../../activities/runs.js';
import { type ChangeRideInput, parseChangeRideInput } from '../../domain/ride/input.js';
import type { RideStanding } from '../../domain/ride/ride.js';
import { waitingOptions } from '../activity-options.js';
import { refuseBadInput } from '../run-kit.js';

/**
 * One update of a ride, sent for a caller that can wait for a run and not for an update: Nexus. It takes as long as the
 * update does, and fails as that does, with `RideNotRequested`, or with `AlreadyEnded`.
 */
export async function changeRide(rawInput: ChangeRideInput): Promise<RideStanding> {
  const input = refuseBadInput(() => parseChangeRideInput(rawInput));
  const { sendRideChange } = proxyActivities<RideChangeActivities>({
    ...waitingOptions,
    summary: `${input.change} of ride ${input.requestId}`,
  });
  return await sendRideChange({ ...input, updateId: workflowInfo().workflowId });
}
