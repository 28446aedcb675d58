import * as nexus from 'nexus-rpc';
import type { FollowOrderInput, OrderTrail } from './order-handle.js';

/** What names one order. */
export interface OrderKey {
  account: string;
  orderId: string;
}

/**
 * The Nexus service of the workers, for callers in other namespaces: plain data, fit for workflow code.
 * `followOrder` takes as long as the order does; `orderTrail` answers at once. Both fail for good with `InvalidInput`,
 * `followOrder` with the failure of the run, `orderTrail` with `OrderNotFollowed`: see `failureTypeOf`.
 * Pass `cancellationType: 'WAIT_CANCELLATION_REQUESTED'`: a caller that goes away does not stop an order that others follow.
 */
export const rideOrders = nexus.service('RideOrders', {
  followOrder: nexus.operation<FollowOrderInput, OrderTrail>(),
  orderTrail: nexus.operation<OrderKey, OrderTrail>(),
});
