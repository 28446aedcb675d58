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

/** A message with the line that the Temporal UI shows beside its name. "Internal: " marks what only faretrail sends. */
export interface Described {
  readonly description: string;
}

const signal = <Args extends unknown[]>(name: string, description: string) =>
  Object.assign(defineSignal<Args>(name), { description });

const query = <Answer>(name: string, description: string) => Object.assign(defineQuery<Answer>(name), { description });

const update = <Answer, Args extends unknown[] = []>(name: string, description: string) =>
  Object.assign(defineUpdate<Answer, Args>(name), { description });

/** Deliveries about the order, as hints; each leads to at least one read that starts afterwards (I2). */
export const deliveryReceivedSignal = signal<[{ deliveries: DeliveryNotice[] }]>(
  'deliveryReceived',
  'Internal: webhook deliveries about this run. The run responds with a read at the service.',
);

export const changeSeenSignal = signal<[SeenChange]>(
  'changeSeen',
  "Internal: the account's watch found a change, or trouble that has lasted. The run reads the order.",
);

/**
 * A caller's wishes for a run that follows an order. It sets fields that are not set yet and adds receivers, which get the present state,
 * every change and the end. It overwrites nothing, so it may arrive first, twice or late.
 */
export const followRequestedSignal = signal<[FollowRequest]>(
  'followRequested',
  'Adds a reference, a pick-up time or receivers of notices to this run. Overwrites nothing.',
);

export const noticeGivenSignal = signal<[Notice]>('noticeGiven', 'Internal: one more notice for this run to send.');

/** It may come twice. */
export const resendRequestedSignal = signal<[ResendRequest]>(
  'resendRequested',
  'Internal: sends undelivered notices again. Use `faretrail notice resend`.',
);

export const refreshOrderUpdate = update<OrderTrail>(
  'refreshOrder',
  'Reads the order at the service now and returns the trail after that read.',
);

/** Ends the run with the outcome `stopped` and answers with the final trail. `reason`: 1 to 200 characters. */
export const stopFollowingUpdate = update<OrderTrail, [{ reason: string }]>(
  'stopFollowing',
  'Stops following the order and returns the final trail. Input: { reason }, 1 to 200 characters.',
);

export const watchedOrderQuery = query<WatchOrderInput>(
  'watchedOrder',
  "Internal: what the account's watch needs to know about the order.",
);

export const watchToldSignal = signal<[WatchTold]>(
  'watchTold',
  'Internal: the worker that polls this account reports its name and the trouble of the account.',
);

export const watchStatusQuery = query<WatchStatus>(
  'watchStatus',
  'What the worker that polls this account last reported.',
);

/**
 * Counts for a subscription, in one of two forms: what the watch of the account found of the changes of its orders (`ChangeCounts`), or the
 * deliveries that an ingress verified and refused at one address (`ProofCounts`). The run ignores any other form. Internal.
 */
export const changesCountedSignal = signal<[ChangeCounts | ProofCounts]>(
  'changesCounted',
  'Internal: counts of order changes and of verified deliveries for this subscription.',
);

export const orderTrailQuery = query<OrderTrail>(
  'orderTrail',
  "The order's trail: status, timeline, attention and outcome.",
);

/** Changes the order of the ride; `order` is a part of the body of create order. Fails as `updateOrder` of `businessCall`. */
export const updateRideUpdate = update<RideStanding, [{ order: Record<string, unknown> }]>(
  'updateRide',
  'Changes the order of the ride. Input: { order }, the fields of the order to change.',
);

/** Cancels the order of the ride; before anything was sent, no order is made. Fails as `cancelOrder` of `businessCall`. */
export const cancelRideUpdate = update<RideStanding>(
  'cancelRide',
  'Cancels the order of the ride. If nothing was sent yet, no order is placed.',
);

/** Decides a ride with the attention `outcomeUnknown`: name its order, try again with the same request id, or give up. */
export const resolveRideUpdate = update<
  RideStanding,
  [{ orderId: string } | { tryAgain: true } | { giveUp: true; reason: string }]
>(
  'resolveRide',
  'Decides a ride with an unknown outcome. Input: { orderId }, { tryAgain: true } or { giveUp: true, reason }.',
);

export const rideStatusQuery = query<RideStanding>('rideStatus', "The ride's stage, order and attention.");

/**
 * An activity of the run claims to do what may be done once: the first of a name may do it. `by`: a random name of the activity's attempt.
 * `stores`: its worker has a store, which a run would not learn from an attempt whose worker dies.
 */
export const claimedSignal = signal<[Claim]>(
  'claimed',
  'Internal: an activity of this run claims something that may be done only once.',
);

/** Argument of `claimed`. */
export interface Claim {
  name: string;
  by: string;
  stores?: boolean;
}

/** A change of the order, from the run that follows it. A hint: the ride reads the end from that run. */
export const rideOrderChangedSignal = signal<[OrderChange]>(
  rideOrderChanged,
  "Internal: a change of the ride's order, from the run that follows it.",
);

/** The report as the run knows it. Its signal is that of orders: `deliveryReceived`. */
export const reportStatusQuery = query<CompanyReport>('reportStatus', 'The company report as this run knows it.');

/** Subscribes at a new path, with a new secret; answers when it is in force. The old ones are accepted for the grace (a
 *  day by default), and no longer when it is 0. */
export const rotateSubscriptionUpdate = update<SubscriptionStatus, [{ graceMs?: number }]>(
  'rotateSubscription',
  'Subscribes at a new path with a new secret. Input: { graceMs }, optional: how long the old ones stay valid.',
);

export const moveSubscriptionUpdate = update<SubscriptionStatus, [{ publicUrl: string; graceMs?: number }]>(
  'moveSubscription',
  'Subscribes at another public URL. Input: { publicUrl, graceMs }; graceMs is optional.',
);

/** Ends the run: the ingress refuses all its addresses from now on. Says what the service still has of it. */
export const endSubscriptionUpdate = update<SubscriptionEnd, [{ reason: string }]>(
  'endSubscription',
  'Ends the subscription and returns what the service may still have of it. Input: { reason }.',
);

export const subscriptionStatusQuery = query<SubscriptionStatus>(
  'subscriptionStatus',
  "The subscription's addresses and attention, without paths and secrets.",
);

/** Asks for a new token if `insteadOf` still names the current one; null: the caller knows none. */
export const renewTokenSignal = signal<[RenewalRequest]>(
  'renewToken',
  "Internal: requests a new token if the caller's token is still the current one.",
);

export const tokenStatusQuery = query<TokenLease>(
  'tokenStatus',
  'Internal: the token lease; the token in it is sealed.',
);

/** Gives the delivery to an order and ends the run. On failure, `NotRouted`, the delivery stays parked. */
export const routeDeliveryUpdate = update<RoutedDelivery, [{ orderId: string }]>(
  'routeDelivery',
  'Hands the delivery over to an order and ends this run. Input: { orderId }.',
);

export const discardDeliveryUpdate = update<ParkedDelivery, [{ reason: string }]>(
  'discardDelivery',
  'Discards the delivery and ends this run. Input: { reason }, 1 to 200 characters.',
);

export const parkedStatusQuery = query<ParkedDelivery>('parkedStatus', 'The parked delivery without its content.');
