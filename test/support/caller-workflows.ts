import {
  CancellationScope,
  createNexusServiceClient,
  isCancellation,
  type NexusOperationCancellationType,
  sleep,
} from '@temporalio/workflow';
import { failureTypeOf } from '../../src/client/in-workflow.js';
import { rideOrders } from '../../src/client/ride-orders.js';
import type { OrderTrail } from '../../src/domain/trail.js';

// The examples are tested as they stand.
export { checkout } from '../../examples/checkout/checkout.js';
export { trip } from '../../examples/nexus-caller/trip.js';

/** What a caller's workflow sees of one operation. */
export interface Seen {
  trail?: unknown;
  type?: string | undefined;
  isCancelled?: boolean;
}

type Operation = keyof (typeof rideOrders)['operations'];

const seen = (trail: unknown): Seen => ({ trail });
const failed = (error: unknown): Seen =>
  isCancellation(error) ? { isCancelled: true } : { type: failureTypeOf(error) ?? String(error) };

/** One operation, with any input. */
export async function ask(endpoint: string, operation: Operation, input: unknown): Promise<Seen> {
  const orders = createNexusServiceClient({ service: rideOrders, endpoint });
  return await orders
    .executeOperation(operation, input as never, { scheduleToCloseTimeout: 40_000 })
    .then(seen, failed);
}

/** Follows an order and gives up a second later, in one of the ways Temporal has for that. */
export async function askAndLeave(
  endpoint: string,
  input: { account: string; orderId: string },
  cancellationType: NexusOperationCancellationType,
): Promise<Seen> {
  const orders = createNexusServiceClient({ service: rideOrders, endpoint });
  const scope = new CancellationScope();
  const waiting = scope
    .run((): Promise<OrderTrail> => orders.executeOperation('followOrder', input, { cancellationType }) as never)
    .then(seen, failed);
  await sleep(1_000);
  scope.cancel();
  return await waiting;
}
