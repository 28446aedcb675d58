import {
  CancellationScope,
  createNexusServiceClient,
  isCancellation,
  type NexusOperationCancellationType,
  sleep,
} from '@temporalio/workflow';
import { failureTypeOf } from '../../../src/client/in-workflow.js';
import { rideOrders } from '../../../src/client/ride-orders.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { innermostFailure } from '../../../src/temporal/failure-type.js';

// The example is tested as it is.
export { checkout } from '../../../examples/checkout/checkout.js';

/** What a caller's workflow sees of one operation. */
export interface Seen {
  answer?: unknown;
  type?: string | undefined;
  /** Those of the failure, where it has any. */
  details?: unknown[];
  isCancelled?: boolean;
}

type Operation = keyof (typeof rideOrders)['operations'];

const seen = (answer: unknown): Seen => ({ answer });
function failed(error: unknown): Seen {
  if (isCancellation(error)) return { isCancelled: true };
  const { details } = innermostFailure(error) ?? {};
  return { type: failureTypeOf(error) ?? String(error), ...(details?.length ? { details } : {}) };
}

/** One operation, with any input. */
export async function ask(
  endpoint: string,
  operation: Operation,
  input: unknown,
  scheduleToCloseTimeout = 40_000,
): Promise<Seen> {
  const orders = createNexusServiceClient({ service: rideOrders, endpoint });
  return await orders.executeOperation(operation, input as never, { scheduleToCloseTimeout }).then(seen, failed);
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
