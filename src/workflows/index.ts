import { setWorkflowOptions } from '@temporalio/workflow';
import { accessToken } from './access-token.js';
import { accountWatch } from './account-watch.js';
import { parkedDelivery } from './parked-delivery.js';
import { replayGate } from './replay-gate.js';
import { isVersioned } from './run-kit.js';
import { subscription } from './subscription/subscription.js';

export { businessCall } from './business-call.js';
export { notices } from './notify/notices.js';
export { followOrder } from './order/follow-order.js';
export { companyReport } from './report/company-report.js';
export { changeRide, requestRide } from './ride/request-ride.js';
export { accessToken, accountWatch, parkedDelivery, replayGate, subscription };

/**
 * Empty for unversioned workers, from which the server refuses a versioning behavior, and for runs that began on such
 * workers.
 */
const withEachVersion = () => (isVersioned() ? { versioningBehavior: 'AUTO_UPGRADE' as const } : {});

// These move to each new version with their next task. The others stay on theirs until they continue as new.
for (const workflow of [accessToken, accountWatch, parkedDelivery, replayGate, subscription])
  setWorkflowOptions(withEachVersion, workflow as (...args: never[]) => Promise<unknown>);
