import type { RequestRideInput } from '../domain/ride-input.js';
import { requestRideId } from '../domain/workflow-ids.js';
import { singleRunStart } from './single-run-start.js';

/** Options of a client that starts `requestRide`: the same request id is the same ride, and never a second one. */
export const rideStart = (input: RequestRideInput, taskQueue: string) =>
  singleRunStart({
    workflowId: requestRideId(input),
    taskQueue,
    input,
    summary: `Ride ${input.requestId} of account ${input.account}`,
  });
