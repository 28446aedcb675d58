import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import { businessCall } from './business-call.js';
import { changeRide } from './change-ride.js';
import { companyReport } from './company-report.js';
import { followOrder } from './follow-order.js';
import { lateNotices } from './late-notices.js';
import { requestRide } from './request-ride.js';

export { accessToken } from './access-token.js';
export { parkedDelivery } from './parked-delivery.js';
export { subscription } from './subscription.js';
export { businessCall, changeRide, companyReport, followOrder, lateNotices, requestRide };

/** Empty where workers are not versioned: the server refuses a task whose worker says more. */
const untilItsEnd = () =>
  workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' as const } : {};

// These end on the version that they began on. The others may never end, and move on to each new version.
for (const workflow of [businessCall, changeRide, companyReport, followOrder, lateNotices, requestRide])
  setWorkflowOptions(untilItsEnd, workflow as (...args: never[]) => Promise<unknown>);
