export { type AuthorizedCall, createAuthorizedCall, createQuietTimes } from './authorized-call.js';
export { type CallActivities, type CallActivityPorts, createCallActivities } from './call.js';
export {
  createDeliveryActivities,
  type DeliveryActivities,
  type DeliveryActivityPorts,
  type DeliveryRoutes,
} from './delivery.js';
export { createNotifyActivities, type NotifyActivities, type NotifyActivityPorts } from './notify.js';
export {
  createEarlierRunActivities,
  createOrderActivities,
  createOrderReader,
  createProvenPaths,
  type EarlierRunActivities,
  type EarlierRunReader,
  type OrderActivities,
  type OrderActivityPorts,
  type ShownReader,
} from './order.js';
export {
  createReceiptActivities,
  createReceiptReader,
  type ReceiptActivities,
  type ReceiptActivityPorts,
} from './receipt.js';
export {
  createFollowingActivities,
  createRideChangeActivities,
  type FollowedOrders,
  type FollowingActivities,
  type FollowingActivityPorts,
  type RequestedRides,
  type RideChangeActivities,
  type RideChangeActivityPorts,
  type SentRideChange,
} from './ride.js';
export { createSubscriberCalls } from './subscriber-calls.js';
export {
  createSilenceActivities,
  createSubscriptionActivities,
  type SilenceActivities,
  type SilenceActivityPorts,
  type SubscriptionActivities,
  type SubscriptionActivityPorts,
} from './subscription.js';
export { createTokenActivities, type TokenActivities, type TokenActivityPorts } from './token.js';
export { createTokenSource, type TokenLeases, type TokenSource } from './token-source.js';
