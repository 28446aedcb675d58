import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { OrderChange } from '../domain/order-change.js';
import type { RideStanding } from '../domain/requested-ride.js';
import { rideOrderChanged } from '../domain/workflow-ids.js';

/** Changes the order of the ride; `order` is a part of the body of create order. Fails as `updateOrder` of `businessCall`. */
export const updateRideUpdate = defineUpdate<RideStanding, [{ order: Record<string, unknown> }]>('updateRide');

/** Cancels the order of the ride; before anything was sent, no order is made. Fails as `cancelOrder` of `businessCall`. */
export const cancelRideUpdate = defineUpdate<RideStanding>('cancelRide');

/** Decides a ride that stands at `outcomeUnknown`: name its order, try again with the same request id, or give up. */
export const resolveRideUpdate = defineUpdate<
  RideStanding,
  [{ orderId: string } | { tryAgain: true } | { giveUp: true; reason: string }]
>('resolveRide');

/** Where the ride stands. */
export const rideStatusQuery = defineQuery<RideStanding>('rideStatus');

/** What the run of the order tells the ride. A hint: the end is read from that run. */
export const rideOrderChangedSignal = defineSignal<[OrderChange]>(rideOrderChanged);
