import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import { businessCall } from './business-call.js';
import { lateNotices } from './notify/late-notices.js';
import { followOrder } from './order/follow-order.js';
import { companyReport } from './report/company-report.js';
import { changeRide, requestRide } from './ride/request-ride.js';

export { accessToken } from './access-token.js';
export { parkedDelivery } from './parked-delivery.js';
export { subscription } from './subscription/subscription.js';
export { businessCall, changeRide, companyReport, followOrder, lateNotices, requestRide };

/** Empty where workers are not versioned: the server refuses a task whose worker says more. */
const untilItsEnd = () =>
  workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' as const } : {};

// These end on the version that they began on. The others may never end, and move on to each new version.
for (const workflow of [businessCall, changeRide, companyReport, followOrder, lateNotices, requestRide])
  setWorkflowOptions(untilItsEnd, workflow as (...args: never[]) => Promise<unknown>);
