import type { QueryDefinition } from '@temporalio/client';
import { ApplicationFailure, type Workflow, type WorkflowResultType } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler, type WorkflowStartOptions } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { rideOrders } from '../client/ride-orders.js';
import { CallerKeySchema, parseBusinessCallInput } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { readInput, toInputObject } from '../domain/input-fields.js';
import { AccountNameSchema, OrderIdSchema } from '../domain/keys.js';
import { isFollowedAgain } from '../domain/order/earlier-run.js';
import { type FollowOrderInput, parseFollowOrderInput } from '../domain/order/input.js';
import type { OrderTrail } from '../domain/order/trail.js';
import { parseChangeRideInput, parseRequestRideInput, type RideChange } from '../domain/ride/input.js';
import { inputOf } from '../domain/schema.js';
import { followOrderId, requestRideId } from '../domain/workflow-ids.js';
import { failureBehind, hasCode } from '../temporal/run-errors.js';
import { runOf, unlessEnded } from '../temporal/runs.js';
import { beginOrder, businessCallStart, changeRideStart, rideStart, toFollowRequest } from '../temporal/starts.js';
import type { businessCall } from '../workflows/business-call.js';
import { followRequestedSignal, orderTrailQuery, rideStatusQuery } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import type { changeRide, requestRide } from '../workflows/ride/request-ride.js';

/** Runs a parser; its `InvalidInput` becomes an error of the operation that the server does not retry. */
function refuseBadInput<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) throw refusal('BAD_REQUEST', error.message, error.code);
    throw error;
  }
}

/** An error that the server does not retry. Its cause has the type that callers branch on, like the failures of runs. */
const refusal = (kind: 'BAD_REQUEST' | 'NOT_FOUND', message: string, type: string): nexus.HandlerError =>
  new nexus.HandlerError(kind, message, { cause: ApplicationFailure.nonRetryable(message, type) });

/** Options of the run that answers. A repeated request has the same `requestId`. Throws `InvalidInput`. */
type ToStart<W extends Workflow> = (given: unknown, requestId: string) => WorkflowStartOptions<W>;

/**
 * An operation that ends with a run, with its result or its failure. Any number of callers share a run, so a caller that
 * cancels does not end it. A run that has already ended answers at once.
 */
const runOperation = <W extends Workflow>(
  workflowType: string,
  toStart: ToStart<W>,
): nexus.OperationHandler<unknown, WorkflowResultType<W>> => ({
  async start(context, given) {
    const options = refuseBadInput(() => toStart(given, context.requestId));
    const begun = await unlessEnded(attach<W>(context, workflowType, options));
    return begun?.answer ?? nexus.HandlerStartOperationResult.sync(await endOf<W>(options.workflowId));
  },
  async cancel() {},
});

/** Starts a run or joins the open one; its end becomes the answer of the operation. */
const attach = <W extends Workflow>(
  context: nexus.StartOperationContext,
  workflowType: string,
  options: WorkflowStartOptions<W>,
): Promise<nexus.HandlerStartOperationResult<WorkflowResultType<W>>> =>
  new WorkflowRunOperationHandler<unknown, WorkflowResultType<W>>((start) =>
    startWorkflow<W>(start, workflowType, options),
  ).start(context, undefined);

/** The result of a run that has ended; its failure is thrown as that of the operation. */
async function endOf<W extends Workflow>(workflowId: string): Promise<WorkflowResultType<W>> {
  try {
    return await runOf<W>(getClient(), workflowId).result();
  } catch (error) {
    const failure = failureBehind(error);
    throw failure ? new nexus.OperationError('failed', failure.message, { cause: failure }) : error;
  }
}

/**
 * Follows an order and answers with its trail when it has ended. A start with a callback cannot carry a signal, so the signal
 * follows the start: if this process dies in between, the server repeats the operation.
 */
const followOperation = (taskQueue: string): nexus.OperationHandler<unknown, OrderTrail> => ({
  async start(context, given) {
    const { input, again } = refuseBadInput(() => parseFollowing(given));
    const begun = await beginOrder(getClient(), {
      input,
      taskQueue,
      start: (options) => attach<typeof followOrder>(context, 'followOrder', options),
      isStartedAgain: (end) => isFollowedAgain(end, again),
    });
    const workflowId = followOrderId(input);
    if ('stays' in begun) return nexus.HandlerStartOperationResult.sync(await endOf<typeof followOrder>(workflowId));
    const request = toFollowRequest(input);
    // For a run that was open already. A run that has ended meanwhile takes no signal, and its result is the answer.
    if (Object.keys(request).length > 0) await runOf(getClient(), workflowId).signal(followRequestedSignal, request);
    return begun.answer;
  },
  async cancel() {},
});

/** Input of the operation. Throws `InvalidInput`. */
function parseFollowing(given: unknown): { input: FollowOrderInput; again: boolean } {
  const { again, ...input } = toInputObject(given);
  if (again !== undefined && again !== null && typeof again !== 'boolean') {
    throw new InvalidInput('again: must be true or false');
  }
  return { input: parseFollowOrderInput(input), again: again === true };
}

/** A synchronous operation must answer within ten seconds, or the server calls it again without end. */
const queryWithinMs = 8_000;

/** The handlers of `rideOrders`, for the worker of the queue `taskQueue`. */
export const createRideOrdersService = (taskQueue: string) => {
  // Each change has a run, since the update of a ride may take minutes: the server counts an operation without an answer in
  // time as a failure of the endpoint, and after a few failures it delays every call of that caller's namespace.
  const changeOperation = (change: RideChange) =>
    runOperation<typeof changeRide>('changeRide', (given, changeId) => {
      const { account, requestId, ...argument } = toInputObject(given);
      return changeRideStart(parseChangeRideInput({ account, requestId, change, argument }), changeId, taskQueue);
    });
  return nexus.serviceHandler(rideOrders, {
    followOrder: followOperation(taskQueue),
    orderTrail: async (_context, given) => {
      const key = refuseBadInput(() => readInput(OrderKeySchema, given));
      const message = `order ${key.orderId} of account ${key.account} is not followed`;
      return await ask(followOrderId(key), orderTrailQuery, refusal('NOT_FOUND', message, 'OrderNotFollowed'));
    },
    requestRide: runOperation<typeof requestRide>('requestRide', (given) =>
      rideStart(parseRequestRideInput(given), taskQueue),
    ),
    rideStatus: async (_context, given) => {
      const key = refuseBadInput(() => readInput(RideKeySchema, given));
      const message = `ride ${key.requestId} of account ${key.account} was not requested`;
      return await ask(requestRideId(key), rideStatusQuery, refusal('NOT_FOUND', message, 'RideNotRequested'));
    },
    updateRide: changeOperation('updateRide'),
    cancelRide: changeOperation('cancelRide'),
    resolveRide: changeOperation('resolveRide'),
    businessCall: runOperation<typeof businessCall>('businessCall', (given) =>
      businessCallStart(parseBusinessCallInput(given), taskQueue),
    ),
  });
};

/** Queries a run. Refuses an unknown run: the server would retry any other error without end. */
async function ask<Answer>(
  workflowId: string,
  query: QueryDefinition<Answer>,
  notFound: nexus.HandlerError,
): Promise<Answer> {
  try {
    return await runOf(getClient(), workflowId).query(query, { withinMs: queryWithinMs });
  } catch (error) {
    throw hasCode(error, 'NotFound') ? notFound : error;
  }
}

const OrderKeySchema = inputOf({ account: AccountNameSchema, orderId: OrderIdSchema });
const RideKeySchema = inputOf({ account: AccountNameSchema, requestId: CallerKeySchema });
