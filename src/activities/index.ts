export { createOrderActivities, type OrderActivities, type OrderActivityPorts } from './order-activities.js';
export { createOrderReader } from './order-reader.js';
export { createQuietTimes } from './quiet-times.js';
export { createTokenActivities, type TokenActivities, type TokenActivityPorts } from './token-activities.js';
export { createTokenSource, type TokenLeases, type TokenSource } from './token-source.js';
