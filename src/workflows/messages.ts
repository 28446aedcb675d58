import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DeliveryNotice } from '../domain/delivery.js';
import type { Notice, ResendRequest } from '../domain/notify/notices.js';
import type { FollowRequest } from '../domain/order/input.js';
import type { OrderChange, OrderTrail } from '../domain/order/trail.js';
import type { ParkedDelivery, RoutedDelivery } from '../domain/parked.js';
import type { CompanyReport } from '../domain/report.js';
import type { RideStanding } from '../domain/ride/ride.js';
import type { ProofCounts } from '../domain/subscription/proofs.js';
import type { ChangeCounts } from '../domain/subscription/state.js';
import type { SubscriptionEnd, SubscriptionStatus } from '../domain/subscription/status.js';
import type { RenewalRequest, TokenLease } from '../domain/token-lease.js';
import type { SeenChange, WatchOrderInput, WatchStatus, WatchTold } from '../domain/watch.js';
import { rideOrderChanged } from '../domain/workflow-ids.js';

/** Deliveries about the order, as hints; each leads to at least one read that starts afterwards (I2). */
export const deliveryReceivedSignal = defineSignal<[{ deliveries: DeliveryNotice[] }]>('deliveryReceived');

/** The watch of the account wants a read: it found another answer than the run shows, or trouble that has lasted. Internal. */
export const changeSeenSignal = defineSignal<[SeenChange]>('changeSeen');

/**
 * A caller's wishes for a run that follows an order. It sets fields that are not set yet and adds receivers, which get the present state,
 * every change and the end. It overwrites nothing, so it may arrive first, twice or late.
 */
export const followRequestedSignal = defineSignal<[FollowRequest]>('followRequested');

/** A run gives a notice to the run that sends it to a URL or the store. Internal. */
export const noticeGivenSignal = defineSignal<[Notice]>('noticeGiven');

/** A person wants a notice sent again that its receiver missed. It may come twice. Internal. */
export const resendRequestedSignal = defineSignal<[ResendRequest]>('resendRequested');

/** Reads the order now and answers with the trail after that read. */
export const refreshOrderUpdate = defineUpdate<OrderTrail>('refreshOrder');

/** Ends the run with the outcome `stopped` and answers with the final trail. `reason`: 1 to 200 characters. */
export const stopFollowingUpdate = defineUpdate<OrderTrail, [{ reason: string }]>('stopFollowing');

/** What the watch of the account must know of the order. Internal. */
export const watchedOrderQuery = defineQuery<WatchOrderInput>('watchedOrder');

/** The worker with the watch tells its run who it is, and the trouble of the account. Internal. */
export const watchToldSignal = defineSignal<[WatchTold]>('watchTold');

/** What the worker with the watch told last. */
export const watchStatusQuery = defineQuery<WatchStatus>('watchStatus');

/**
 * Counts for a subscription, in one of two forms: what the watch of the account found of the changes of its orders (`ChangeCounts`), or the
 * deliveries that an ingress verified and refused at one address (`ProofCounts`). The run ignores any other form. Internal.
 */
export const changesCountedSignal = defineSignal<[ChangeCounts | ProofCounts]>('changesCounted');

/** The trail as the run knows it. */
export const orderTrailQuery = defineQuery<OrderTrail>('orderTrail');

/** Changes the order of the ride; `order` is a part of the body of create order. Fails as `updateOrder` of `businessCall`. */
export const updateRideUpdate = defineUpdate<RideStanding, [{ order: Record<string, unknown> }]>('updateRide');

/** Cancels the order of the ride; before anything was sent, no order is made. Fails as `cancelOrder` of `businessCall`. */
export const cancelRideUpdate = defineUpdate<RideStanding>('cancelRide');

/** Decides a ride with the attention `outcomeUnknown`: name its order, try again with the same request id, or give up. */
export const resolveRideUpdate = defineUpdate<
  RideStanding,
  [{ orderId: string } | { tryAgain: true } | { giveUp: true; reason: string }]
>('resolveRide');

/** Where the ride stands. */
export const rideStatusQuery = defineQuery<RideStanding>('rideStatus');

/**
 * An activity of the run claims to do what may be done once: the first of a name may do it. `by`: a random name of the activity's attempt.
 * `stores`: its worker has a store, which a run would not learn from an attempt whose worker dies.
 */
export const claimedSignal = defineSignal<[Claim]>('claimed');

/** Argument of `claimed`. */
export interface Claim {
  name: string;
  by: string;
  stores?: boolean;
}

/** A change of the order, from the run that follows it. A hint: the ride reads the end from that run. */
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

/** Asks for a new token if `insteadOf` still names the current one; null: the caller knows none. */
export const renewTokenSignal = defineSignal<[RenewalRequest]>('renewToken');

/** The lease as published in the memo; the token in it is sealed. */
export const tokenStatusQuery = defineQuery<TokenLease>('tokenStatus');

/** Gives the delivery to an order and ends the run. On failure, `NotRouted`, the delivery stays parked. */
export const routeDeliveryUpdate = defineUpdate<RoutedDelivery, [{ orderId: string }]>('routeDelivery');

/** Ends the run without doing anything with the delivery. `reason`: 1 to 200 characters. */
export const discardDeliveryUpdate = defineUpdate<ParkedDelivery, [{ reason: string }]>('discardDelivery');

/** The parked delivery without its content. */
export const parkedStatusQuery = defineQuery<ParkedDelivery>('parkedStatus');
