import type { Paths } from '../path.js';
import { callTroubles, slowCallTroubles } from './calls.js';
import { deliveryTroubles } from './deliveries.js';
import { noticeTroubles, slowNoticeTroubles } from './notices.js';
import { orderTroubles } from './orders.js';
import { rideTroubles, slowRideTroubles } from './rides.js';
import { subscriptionTroubles } from './subscriptions.js';
import { watchTroubles } from './watches.js';

/** Every way through the workflows that needs an activity which fails, stays silent or answers what it seldom does, by name. */
export const troublePaths: Paths = {
  ...callTroubles,
  ...watchTroubles,
  ...deliveryTroubles,
  ...noticeTroubles,
  ...orderTroubles,
  ...rideTroubles,
  ...subscriptionTroubles,
};

/** Those that take minutes. */
export const slowTroublePaths: Paths = { ...slowCallTroubles, ...slowNoticeTroubles, ...slowRideTroubles };
