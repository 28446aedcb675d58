import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { rideOrders } from '../client/ride-orders.js';
import { InvalidInput } from '../domain/errors.js';
import { parseFollowOrderInput } from '../domain/follow-input.js';
import { toInputFields } from '../domain/input-fields.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import type { OrderTrail } from '../domain/trail.js';
import { type FollowOrderKey, followOrderId } from '../domain/workflow-ids.js';
import { orderStart } from '../order-start.js';
import type { followOrder } from '../workflows/follow-order.js';
import { orderTrailQuery } from '../workflows/follow-order-messages.js';

/** A synchronous operation must answer within ten seconds, or it is called again without end. */
const queryTimeoutMs = 8_000;

type Operations = (typeof rideOrders)['operations'];
type FollowOperation = nexus.OperationHandler<
  nexus.OperationInput<Operations['followOrder']>,
  nexus.OperationOutput<Operations['followOrder']>
>;

/** The handlers of `rideOrders`, for the worker of the queue `taskQueue`. */
export const createRideOrdersService = (taskQueue: string) =>
  nexus.serviceHandler(rideOrders, {
    followOrder: followOperation(taskQueue),
    orderTrail: (_context, key) => readTrail(refuseBadInput(() => parseOrderKey(key))),
  });

/** Any number of callers share the run of an order, so a caller that cancels does not end it (use `stopFollowing`). */
function followOperation(taskQueue: string): FollowOperation {
  const run = new WorkflowRunOperationHandler<unknown, OrderTrail>(async (context, given) => {
    const input = refuseBadInput(() => parseFollowOrderInput(given));
    return await startWorkflow<typeof followOrder>(context, 'followOrder', orderStart(input, taskQueue));
  });
  return {
    async start(context, input) {
      try {
        return await run.start(context, input);
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        return nexus.HandlerStartOperationResult.sync(await endOf(parseFollowOrderInput(input)));
      }
    },
    async cancel() {},
  };
}

/** What a run that has ended came to: its trail, or its failure as that of the operation. */
async function endOf(key: FollowOrderKey): Promise<OrderTrail> {
  try {
    return await getClient().workflow.getHandle<typeof followOrder>(followOrderId(key)).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const message = error.cause?.message ?? error.message;
    throw new nexus.OperationError('failed', message, error.cause ? { cause: error.cause } : {});
  }
}

async function readTrail(key: FollowOrderKey): Promise<OrderTrail> {
  const handle = getClient().workflow.getHandle<typeof followOrder>(followOrderId(key));
  try {
    return await getClient().withDeadline(Date.now() + queryTimeoutMs, () => handle.query(orderTrailQuery));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    // Let through, it would count as our fault and be tried again without end.
    throw refusal('NOT_FOUND', `order ${key.orderId} of account ${key.account} is not followed`, 'OrderNotFollowed');
  }
}

function parseOrderKey(value: unknown): FollowOrderKey {
  const { account, orderId } = toInputFields(value, ['account', 'orderId']);
  return { account: toAccountName(account), orderId: toOrderId(orderId) };
}

function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw refusal('BAD_REQUEST', error.message, error.code);
    throw error;
  }
}

/** An error that is not tried again. Its cause has the type that callers branch on, as failures of runs have. */
const refusal = (kind: 'BAD_REQUEST' | 'NOT_FOUND', message: string, type: string): nexus.HandlerError =>
  new nexus.HandlerError(kind, message, { cause: ApplicationFailure.nonRetryable(message, type) });
