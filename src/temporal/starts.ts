import type { BusinessCallInput } from '../domain/call.js';
import type { CompanyReportInput } from '../domain/report.js';
import type { ChangeRideInput, RequestRideInput } from '../domain/ride/input.js';
import {
  businessCallId,
  type CompanyReportKey,
  changeRideId,
  companyReportId,
  requestRideId,
} from '../domain/workflow-ids.js';

/** What a run is started with. */
interface Start<Input> {
  workflowId: string;
  taskQueue: string;
  input: Input;
  summary: string;
}

/**
 * Options of a client that starts a run which there may be once only: whoever starts it again gets the one that goes on, or
 * learns that it has ended, and there is never a second run of its id.
 */
export const singleRunStart = <Input>({ workflowId, taskQueue, input, summary }: Start<Input>) => ({
  workflowId,
  taskQueue,
  args: [input] as [Input],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: summary,
});

/** Options of a client that starts `businessCall`: one key is one call for ever, even when it failed, so that a key whose
 *  outcome nobody knows can never make a second effect. */
export const businessCallStart = (input: BusinessCallInput, taskQueue: string) =>
  singleRunStart({
    workflowId: businessCallId(input),
    taskQueue,
    input,
    summary: `${input.operation} of account ${input.account}`,
  });

/** Options of a client that starts `changeRide`. `changeId`: the same for a request that comes again. */
export const changeRideStart = (input: ChangeRideInput, changeId: string, taskQueue: string) =>
  singleRunStart({
    workflowId: changeRideId({ ...input, changeId }),
    taskQueue,
    input,
    summary: `${input.change} of ride ${input.requestId}`,
  });

/** Options of a client that starts `companyReport`, or signals it with a start. Again after its end, since a price may change
 *  long after the last report. */
export const reportStart = (key: CompanyReportKey, input: CompanyReportInput, taskQueue: string) => ({
  workflowId: companyReportId(key),
  taskQueue,
  args: [input] as [CompanyReportInput],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `Company reports of account ${key.account} about ${key.about}`,
});

/** Options of a client that starts `requestRide`: the same request id is the same ride, and never a second one. */
export const rideStart = (input: RequestRideInput, taskQueue: string) =>
  singleRunStart({
    workflowId: requestRideId(input),
    taskQueue,
    input,
    summary: `Ride ${input.requestId} of account ${input.account}`,
  });
