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

/**
 * Options of a start that never makes a second run with the same id: a later start joins the open run, and the server
 * rejects it when that run has ended.
 */
export const singleRunStart = <Input>(workflowId: string, input: Input, taskQueue: string, staticSummary: string) => ({
  workflowId,
  taskQueue,
  args: [input] as [Input],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary,
});

/** Options of a start of `businessCall`. One key is one call, even when it failed: a call with an unknown outcome must never have
 *  a second effect. */
export const businessCallStart = (input: BusinessCallInput, taskQueue: string) =>
  singleRunStart(businessCallId(input), input, taskQueue, `${input.operation} of account ${input.account}`);

/** Options of a start of `changeRide`. A repeated request has the same `changeId`. */
export const changeRideStart = (input: ChangeRideInput, changeId: string, taskQueue: string) =>
  singleRunStart(changeRideId({ ...input, changeId }), input, taskQueue, `${input.change} of ride ${input.requestId}`);

/** Options of a start of `companyReport`, also with a signal. It may start again after its end, since a price may change long after
 *  the last report. */
export const reportStart = (key: CompanyReportKey, input: CompanyReportInput, taskQueue: string) => ({
  ...singleRunStart(
    companyReportId(key),
    input,
    taskQueue,
    `Company reports of account ${key.account} about ${key.about}`,
  ),
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
});

/** Options of a start of `requestRide`. One request id is one ride. */
export const rideStart = (input: RequestRideInput, taskQueue: string) =>
  singleRunStart(requestRideId(input), input, taskQueue, `Ride ${input.requestId} of account ${input.account}`);
