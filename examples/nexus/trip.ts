import { createNexusServiceClient } from '@temporalio/workflow';
import { failureTypeOf } from 'faretrail/workflow';
import { rides } from './rides.js';

/** An order, and the Nexus endpoint behind which it is followed. */
export interface TripInput {
  endpoint: string;
  account: string;
  orderId: string;
}

/** How a trip ended: the outcome of the order, or why it could not be followed. */
export interface TripResult {
  outcome: string | null;
  statuses: string[];
  refusal?: string;
}

/** Follows an order to its end from a namespace that has no worker of faretrail. */
export async function trip({ endpoint, ...order }: TripInput): Promise<TripResult> {
  const orders = createNexusServiceClient({ service: rides, endpoint });
  try {
    // Cancelled, this run ends at once; the order is followed on for others.
    const trail = await orders.executeOperation('followOrder', order, {
      cancellationType: 'WAIT_CANCELLATION_REQUESTED',
    });
    return { outcome: trail.outcome, statuses: trail.timeline.map(({ status }) => status) };
  } catch (error) {
    const refusal = failureTypeOf(error);
    if (refusal === undefined) throw error;
    return { outcome: null, statuses: [], refusal };
  }
}
