import { ActivityFailure, isCancellation, patched, proxyActivities } from '@temporalio/workflow';
import type { ClaimActivities } from '../../activities/call.js';
import { isOrderId, type OrderId } from '../../domain/keys.js';
import { accountQueue } from '../activity-options.js';
import { unless } from '../run-kit.js';
import { type Ride, setStanding } from './state.js';

// Deliveries may name the order of a ride whose create lost its answer. Whoever knows an address can send such a delivery, so the
// ride asks the order itself, and only a few times.

const maxNamed = 3;
const maxReads = 10;

/** Records an order for the main body. Any program may send the signal. */
export function recordNamed(ride: Ride, signal: unknown): void {
  const { orderId } = (signal ?? {}) as Record<string, unknown>;
  if (ride.standing.orderId !== null || typeof orderId !== 'string' || !isOrderId(orderId)) return;
  // A worker of 0.1.0 may have taken this signal without a handler for it.
  if (!patched('order-named')) return;
  ride.named = [...ride.named.filter((one) => one !== orderId), orderId].slice(-maxNamed);
}

/** Is there an order that the run has not read yet? */
export const mayReadNamed = ({ named, namedReads }: Ride): boolean => named.length > 0 && namedReads < maxReads;

/** Takes over the order that was named last if that order itself names this ride. A person's decision goes first. */
export async function takeNamedOrder(ride: Ride): Promise<void> {
  const orderId = ride.named.pop();
  if (orderId === undefined) return;
  ride.namedReads += 1;
  const isOurs = await unless(
    () => ride.resolution !== null,
    () => confirm(ride, orderId),
  );
  if (isOurs && ride.resolution === null) setStanding(ride, { attention: null, orderId });
}

/** False too if the order cannot be read. */
async function confirm({ input: { account, requestId } }: Ride, orderId: OrderId): Promise<boolean> {
  const { confirmOrder } = proxyActivities<ClaimActivities>({
    startToCloseTimeout: 40_000,
    scheduleToCloseTimeout: 300_000,
    retry: { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 },
    taskQueue: accountQueue(account),
    priority: { priorityKey: 1 },
    cancellationType: 'TRY_CANCEL',
    summary: `Does order ${orderId} come from this ride?`,
  });
  try {
    return await confirmOrder({ account, orderId, requestId });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return false;
  }
}
