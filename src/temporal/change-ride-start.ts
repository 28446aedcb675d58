import type { ChangeRideInput } from '../domain/ride-change.js';
import { changeRideId } from '../domain/workflow-ids.js';
import { singleRunStart } from './single-run-start.js';

/** Options of a client that starts `changeRide`. `changeId`: the same for a request that comes again. */
export const changeRideStart = (input: ChangeRideInput, changeId: string, taskQueue: string) =>
  singleRunStart({
    workflowId: changeRideId({ ...input, changeId }),
    taskQueue,
    input,
    summary: `${input.change} of ride ${input.requestId}`,
  });
