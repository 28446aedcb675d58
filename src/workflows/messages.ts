import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DeliveryNotice } from '../domain/delivery.js';
import type { EarlierRun } from '../domain/order/earlier-run.js';
import type { FollowRequest } from '../domain/order/input.js';
import type { OrderChange, OrderTrail } from '../domain/order/trail.js';
import type { ParkedDelivery, RoutedDelivery } from '../domain/parked.js';
import type { CompanyReport } from '../domain/report.js';
import type { RideStanding } from '../domain/ride/ride.js';
import type { SubscriptionEnd, SubscriptionStatus } from '../domain/subscription/status.js';
import type { RenewalWish, TokenLease } from '../domain/token/lease.js';
import { rideOrderChanged } from '../domain/workflow-ids.js';

/** Deliveries about the order, as hints; each leads to at least one read that starts afterwards (I2). */
export const deliveryReceivedSignal = defineSignal<[{ deliveries: DeliveryNotice[] }]>('deliveryReceived');

/**
 * What a caller wants of the following, whoever made the run: it fills what the run does not know yet and adds receivers, each told
 * where the order stands, then of every change and of the end. It overwrites nothing, so it may come first, twice or late.
 */
export const followRequestedSignal = defineSignal<[FollowRequest]>('followRequested');

/** Reads the order now and answers with the trail after that read. */
export const refreshOrderUpdate = defineUpdate<OrderTrail>('refreshOrder');

/** Ends the run with the outcome `stopped` and answers with the final trail. `reason`: 1 to 200 characters. */
export const stopFollowingUpdate = defineUpdate<OrderTrail, [{ reason: string }]>('stopFollowing');

/** For a later run of the same order: what this one leaves to it. */
export const leftByRunQuery = defineQuery<EarlierRun>('leftByRun');

/** The trail as the run knows it. */
export const orderTrailQuery = defineQuery<OrderTrail>('orderTrail');

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

/** The report as the run knows it. Its signal is that of orders: `deliveryReceived`. */
export const reportStatusQuery = defineQuery<CompanyReport>('reportStatus');

/** Subscribes at a new path, with a new secret; answers when it is in force. The old ones are accepted for the grace (a
 *  day by default), and no longer when it is 0. */
export const rotateSubscriptionUpdate = defineUpdate<SubscriptionStatus, [{ graceMs?: number }]>('rotateSubscription');

/** The same at another public URL. */
export const moveSubscriptionUpdate = defineUpdate<SubscriptionStatus, [{ publicUrl: string; graceMs?: number }]>(
  'moveSubscription',
);

/** Ends the run: the ingress refuses all its addresses from now on. Says what the service still has of it. */
export const endSubscriptionUpdate = defineUpdate<SubscriptionEnd, [{ reason: string }]>('endSubscription');

/** The addresses and what needs a person; never a path or a secret. */
export const subscriptionStatusQuery = defineQuery<SubscriptionStatus>('subscriptionStatus');

/** A wish; a caller of an earlier release, whose token was rejected or came to its end, gives `insteadOf` alone. */
export type RenewTokenRequest = Pick<RenewalWish, 'insteadOf'> & Partial<RenewalWish>;

/** Asks for a new token, if `insteadOf` still names the current one; null: "I know of none". */
export const renewTokenSignal = defineSignal<[RenewTokenRequest]>('renewToken');

/** The lease as published in the memo; the token in it is sealed. */
export const tokenStatusQuery = defineQuery<TokenLease>('tokenStatus');

/** Gives the delivery to an order and ends the run. Fails with `NotRouted` when that cannot be done now; it stays parked. */
export const routeDeliveryUpdate = defineUpdate<RoutedDelivery, [{ orderId: string }]>('routeDelivery');

/** Ends the run without doing anything with the delivery. `reason`: 1 to 200 characters. */
export const discardDeliveryUpdate = defineUpdate<ParkedDelivery, [{ reason: string }]>('discardDelivery');

/** What is kept of the delivery; never its content, not even sealed. */
export const parkedStatusQuery = defineQuery<ParkedDelivery>('parkedStatus');
