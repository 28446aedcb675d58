export { accessToken } from './access-token.js';
export { businessCall } from './business-call.js';
export { companyReport } from './company-report.js';
export { followOrder } from './follow-order.js';
export { parkedDelivery } from './parked-delivery.js';
export { requestRide } from './request-ride.js';
export { subscription } from './subscription.js';
