import { ApplicationFailure, CancellationScope, condition, currentUpdateInfo, patched } from '@temporalio/workflow';
import { readConcern } from '../../domain/attention.js';
import { parseNoInput } from '../../domain/input-fields.js';
import { isSameId } from '../../domain/keys.js';
import { parseResolveRideInput, parseUpdateRideInput, type RideResolution } from '../../domain/ride/input.js';
import { type RideStanding, rideCallId, unresolvedText } from '../../domain/ride/ride.js';
import { readOr, text } from '../../domain/schema.js';
import { listenToClaims, performCall } from '../business-call.js';
import {
  cancelRideUpdate,
  resolveRideUpdate,
  rideOrderChangedSignal,
  rideStatusQuery,
  updateRideUpdate,
} from '../messages.js';
import { onUpdate, setHandler } from '../run-kit.js';
import { orderKey, refreshOrder } from './following.js';
import { shownReceipt } from './receipt.js';
import { type Ride, setStanding, showsWaiting } from './state.js';

/** Registers all handlers. Must run before the first await of the run. */
export function listen(ride: Ride): void {
  setHandler(rideStatusQuery, () => ({ ...ride.standing, ...shownReceipt(ride) }));
  setHandler(rideOrderChangedSignal, (change) => recordChange(ride, change));
  listenToClaims(() => void ride.notifier.addStore(ride));
  onUpdate(updateRideUpdate, parseUpdateRideInput, ({ order }) => update(ride, order));
  onUpdate(cancelRideUpdate, parseNoInput, () => cancel(ride));
  const takes = (resolution: RideResolution): Promise<RideStanding> => takeResolution(ride, resolution);
  onUpdate(resolveRideUpdate, parseResolveRideInput, takes, () => checkUnresolved(ride));
}

/** Any program can send any text. */
const StatusSchema = text(256);

const isUnknown = ({ standing }: Ride): boolean => standing.attention?.code === 'outcomeUnknown';

/** Shows the change. Since any program may send the signal, the ride reads the end from the run of the order. */
function recordChange(ride: Ride, change: unknown): void {
  const { account, orderId, stage } = ride.standing;
  const told = (change ?? {}) as Record<string, unknown>;
  const isFollowing = stage === 'requesting' || stage === 'following';
  if (!isFollowing || orderId === null || told.account !== account || !isSameId(String(told.orderId), orderId)) return;
  const concern = readConcern(told.attention);
  setStanding(ride, {
    status: readOr(StatusSchema, told.status, ride.standing.status),
    ...((concern ?? ride.standing.orderAttention) && { orderAttention: concern }),
  });
  ride.isEndTold ||= typeof told.outcome === 'string' || told.ended === true;
}

/** Waits for the end of the create, since a ride without an order has nothing to change. */
async function untilOrdered(ride: Ride): Promise<void> {
  await condition(() => ride.standing.stage !== 'requesting' || isUnknown(ride));
  if (!isUnknown(ride)) return failIfFailed(ride);
  throw ApplicationFailure.nonRetryable(unresolvedText(ride.standing), 'OutcomeUnknown');
}

function failIfFailed({ failure }: Ride): void {
  if (failure) throw ApplicationFailure.nonRetryable(failure.message, failure.type, ...(failure.details ?? []));
}

async function update(ride: Ride, body: Record<string, unknown>): Promise<RideStanding> {
  await untilOrdered(ride);
  if (ride.standing.orderId === null) {
    throw ApplicationFailure.nonRetryable('The ride was withdrawn before it was ordered.', 'OrderNotFound');
  }
  return await inTurn(ride, async () => {
    await change(ride, { operation: 'updateOrder', body });
    return ride.standing;
  });
}

async function cancel(ride: Ride): Promise<RideStanding> {
  if (!ride.isSent) ride.isWithdrawn = true;
  await untilOrdered(ride);
  return await inTurn(ride, async () => {
    const isOver = (): boolean => ride.standing.outcome !== null || ride.standing.stage === 'ended';
    if (['cancelled', 'withdrawn'].includes(ride.standing.outcome ?? '')) return ride.standing;
    await change(ride, { operation: 'cancelOrder' });
    // The service accepted the call; a read shows when the order is cancelled.
    if (!isOver()) await condition(isOver, ride.limits.cancelShownMs);
    return ride.standing;
  });
}

/** Makes one change after the other, so that the order ends up with the last one. */
async function inTurn<T>(ride: Ride, act: () => Promise<T>): Promise<T> {
  const mine = ride.changes.catch(() => undefined).then(act);
  ride.changes = mine;
  return await mine;
}

/** A refusal goes to the caller and changes nothing. A cancellation of the run does not interrupt it: the caller needs the result. */
function change(
  ride: Ride,
  asked: { operation: 'cancelOrder' } | { operation: 'updateOrder'; body: Record<string, unknown> },
): Promise<void> {
  return CancellationScope.nonCancellable(async () => {
    const call = { ...orderKey(ride), ...asked, requestId: rideCallId(ride.standing) };
    await performCall(call, showsWaiting(ride));
    const trail = await refreshOrder(ride);
    // The order's run may have broken off without a signal, and the caller should not wait for the next look.
    if (trail === null && patched('ride-checks-order-after-change')) ride.checks += 1;
    if (trail === null || ride.trail !== null) return;
    setStanding(ride, { status: trail.status, ...(trail.terminal ? { outcome: trail.outcome } : {}) });
  });
}

const alreadyDecided = () => ApplicationFailure.nonRetryable('There is nothing to resolve.', 'AlreadyDecided');

function checkUnresolved(ride: Ride): void {
  if (!isUnknown(ride)) throw alreadyDecided();
  if (ride.isResolving) throw ApplicationFailure.nonRetryable('It is just being resolved.', 'AlreadyDecided');
}

/** Answers after the ride has carried out the decision; after another attempt the outcome may be unknown again. */
async function takeResolution(ride: Ride, resolution: RideResolution): Promise<RideStanding> {
  checkUnresolved(ride); // two may have passed the validator in one task
  ride.isResolving = true;
  try {
    if ('orderId' in resolution) await checkOrder(ride, resolution);
    ride.resolution = resolution;
    ride.resolvedBy = currentUpdateInfo()?.id ?? null;
    await condition(() => ride.resolution === null);
    await condition(() => ride.standing.stage !== 'requesting' || isUnknown(ride));
    if (!('giveUp' in resolution)) failIfFailed(ride);
    return ride.standing;
  } finally {
    ride.isResolving = false;
  }
}

/** Refuses a wrong id, which would end the ride. */
async function checkOrder(ride: Ride, { orderId }: { orderId: RideStanding['orderId'] & string }): Promise<void> {
  const { account } = ride.standing;
  const call = { account, operation: 'orderDetails', orderId, requestId: rideCallId(ride.standing) } as const;
  await performCall(call, showsWaiting(ride));
}
