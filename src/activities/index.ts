export { type AuthorizedCall, createAuthorizedCall } from './authorized-call.js';
export { type CallActivities, type CallActivityPorts, createCallActivities } from './call-activities.js';
export {
  createDeliveryActivities,
  type DeliveryActivities,
  type DeliveryActivityPorts,
  type DeliveryRoutes,
} from './delivery-activities.js';
export {
  createEarlierRunActivities,
  type EarlierRunActivities,
  type EarlierRunReader,
} from './earlier-run-activities.js';
export {
  createFollowingActivities,
  type FollowedOrders,
  type FollowingActivities,
  type FollowingActivityPorts,
} from './following-activities.js';
export { createNotifyActivities, type NotifyActivities, type NotifyActivityPorts } from './notify-activities.js';
export {
  createOrderActivities,
  type OrderActivities,
  type OrderActivityPorts,
  type ShownReader,
} from './order-activities.js';
export { createOrderReader, createProvenPaths } from './order-reader.js';
export { createQuietTimes } from './quiet-times.js';
export { createReceiptActivities, type ReceiptActivities, type ReceiptActivityPorts } from './receipt-activities.js';
export { createReceiptReader } from './receipt-reader.js';
export {
  createRideChangeActivities,
  type RequestedRides,
  type RideChangeActivities,
  type RideChangeActivityPorts,
  type SentRideChange,
} from './ride-change-activities.js';
export { createSilenceActivities, type SilenceActivities, type SilenceActivityPorts } from './silence-activities.js';
export { createSubscriberCalls } from './subscriber-calls.js';
export {
  createSubscriptionActivities,
  type SubscriptionActivities,
  type SubscriptionActivityPorts,
} from './subscription-activities.js';
export { createTokenActivities, type TokenActivities, type TokenActivityPorts } from './token-activities.js';
export { createTokenSource, type TokenLeases, type TokenSource } from './token-source.js';
