import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import type { OrderTrail } from 'faretrail';
import * as nexus from 'nexus-rpc';
import { type OrderKey, rides } from './rides.js';

/** Only these accounts are served, and `ridesQueue` is the task queue of the workers of faretrail. */
export interface Offer {
  accounts: ReadonlySet<string>;
  ridesQueue: string;
}

/** A handler has ten seconds, or the server calls it again without end. */
const withinMs = 8_000;

/** The handlers of `rides`, for a worker in the namespace of faretrail. */
export function createRidesService({ accounts, ridesQueue }: Offer) {
  /** The caller's order, and nothing else: a caller must not name receivers, which would let it signal any workflow here. */
  function ownOrder(given: OrderKey): OrderKey {
    const { account, orderId } = given ?? {};
    if (!accounts.has(account))
      throw refusal('UNAUTHORIZED', 'AccountNotServed', `account ${account} is not served here`);
    if (typeof orderId !== 'string') throw refusal('BAD_REQUEST', 'InvalidInput', 'orderId: must be a text');
    return { account, orderId };
  }
  const runOf = (key: OrderKey) => getClient().workflow.getHandle(idOf(key));
  const following = new WorkflowRunOperationHandler<OrderKey, OrderTrail>((context, key) =>
    startWorkflow(context, 'followOrder', {
      workflowId: idOf(key),
      taskQueue: ridesQueue,
      args: [key],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  );
  return nexus.serviceHandler(rides, {
    followOrder: {
      async start(context, given) {
        const key = ownOrder(given);
        try {
          return await following.start(context, key);
        } catch (error) {
          if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
          return nexus.HandlerStartOperationResult.sync(await runOf(key).result()); // it has ended
        }
      },
      async cancel() {}, // others may share the run
    },
    orderTrail: async (_context, given) => {
      const run = runOf(ownOrder(given));
      try {
        return await getClient().withDeadline(Date.now() + withinMs, () => run.query<OrderTrail>('orderTrail'));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        throw refusal('NOT_FOUND', 'OrderNotFollowed', 'the order is not followed');
      }
    },
  });
}

const idOf = ({ account, orderId }: OrderKey): string => `order/${account}/${orderId}`;

/** An error that the server does not retry. The caller branches on the type of its cause. */
const refusal = (kind: 'BAD_REQUEST' | 'NOT_FOUND' | 'UNAUTHORIZED', type: string, message: string) =>
  new nexus.HandlerError(kind, message, { cause: ApplicationFailure.nonRetryable(message, type) });
