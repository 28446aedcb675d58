export { accessToken } from './access-token.js';
export { followOrder } from './follow-order.js';
