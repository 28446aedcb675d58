import * as nexus from 'nexus-rpc';
import type { CallInput, CallResult, FollowOptions } from './faretrail-client.js';
import type { FollowOrderInput, OrderTrail, RideInput, RideResolution, RideResult, RideStanding } from './handles.js';

/** The key of one order. */
export interface OrderKey {
  account: string;
  orderId: string;
}

/** The key of one ride. */
export interface RideKey {
  account: string;
  requestId: string;
}

/**
 * The Nexus service of the workers, for callers in other namespaces: plain data, fit for workflow code. `orderTrail` and
 * `rideStatus` answer at once, the other operations when their run ends. An operation fails without a retry with
 * `InvalidInput`, with the failure of its run, or with `OrderNotFollowed` or `RideNotRequested`: see `failureTypeOf`.
 * Pass `cancellationType: 'WAIT_CANCELLATION_REQUESTED'`: a caller that cancels does not end a run that others share.
 */
export const rideOrders = nexus.service('RideOrders', {
  followOrder: nexus.operation<FollowOrderInput & FollowOptions, OrderTrail>(),
  orderTrail: nexus.operation<OrderKey, OrderTrail>(),
  /** Once for each `requestId`. Answers with the result of the ride. */
  requestRide: nexus.operation<RideInput, RideResult>(),
  rideStatus: nexus.operation<RideKey, RideStanding>(),
  updateRide: nexus.operation<RideKey & { order: Record<string, unknown> }, RideStanding>(),
  cancelRide: nexus.operation<RideKey, RideStanding>(),
  resolveRide: nexus.operation<RideKey & RideResolution, RideStanding>(),
  /** The same `key` gives the same answer, and never a second effect. */
  businessCall: nexus.operation<CallInput, CallResult>(),
});
