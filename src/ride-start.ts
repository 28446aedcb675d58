import type { RequestRideInput } from './domain/ride-input.js';
import { requestRideId } from './domain/workflow-ids.js';

/** Options of a client that starts `requestRide`: the same request id is the same ride, and never a second one. */
export const rideStart = (input: RequestRideInput, taskQueue: string) => ({
  workflowId: requestRideId(input),
  taskQueue,
  args: [input] as [RequestRideInput],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `Ride ${input.requestId} of account ${input.account}`,
});
