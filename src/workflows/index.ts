import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import { businessCall } from './business-call.js';
import { notices } from './notify/notices.js';
import { followOrder } from './order/follow-order.js';
import { companyReport } from './report/company-report.js';
import { changeRide, requestRide } from './ride/request-ride.js';

export { accessToken } from './access-token.js';
export { accountWatch } from './account-watch.js';
export { parkedDelivery } from './parked-delivery.js';
export { replayGate } from './replay-gate.js';
export { subscription } from './subscription/subscription.js';
export { businessCall, changeRide, companyReport, followOrder, notices, requestRide };

/** Empty for unversioned workers, from which the server refuses a versioning behavior. */
const untilItsEnd = () =>
  workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' as const } : {};

// These stay on the version on which they began. The others run for very long, so they move to each new version.
for (const workflow of [businessCall, changeRide, companyReport, followOrder, notices, requestRide])
  setWorkflowOptions(untilItsEnd, workflow as (...args: never[]) => Promise<unknown>);
