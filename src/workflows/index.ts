export { accessToken } from './access-token.js';
export { companyReport } from './company-report.js';
export { followOrder } from './follow-order.js';
export { parkedDelivery } from './parked-delivery.js';
export { subscription } from './subscription.js';
