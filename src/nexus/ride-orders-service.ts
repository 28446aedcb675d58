import { type QueryDefinition, WorkflowNotFoundError } from '@temporalio/client';
import { getClient } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { rideOrders } from '../client/ride-orders.js';
import { parseBusinessCallInput } from '../domain/business-call-input.js';
import { toInputFields, toInputObject } from '../domain/input-fields.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { parseChangeRideInput, type RideChange } from '../domain/ride-change.js';
import { parseRequestRideInput, toRideRequestId } from '../domain/ride-input.js';
import { type FollowOrderKey, followOrderId, type RequestRideKey, requestRideId } from '../domain/workflow-ids.js';
import { businessCallStart } from '../temporal/business-call-start.js';
import { changeRideStart } from '../temporal/change-ride-start.js';
import { repeatWhenLost } from '../temporal/lost-update.js';
import { rideStart } from '../temporal/ride-start.js';
import type { businessCall } from '../workflows/business-call.js';
import type { changeRide } from '../workflows/change-ride.js';
import { orderTrailQuery } from '../workflows/follow-order-messages.js';
import type { requestRide } from '../workflows/request-ride.js';
import { rideStatusQuery } from '../workflows/request-ride-messages.js';
import { followOperation } from './follow-operation.js';
import { refusal, refuseBadInput } from './refusals.js';
import { runOperation } from './run-operation.js';

/** A synchronous operation must answer within ten seconds, or it is called again without end. */
const queryTimeoutMs = 8_000;

/** The handlers of `rideOrders`, for the worker of the queue `taskQueue`. */
export const createRideOrdersService = (taskQueue: string) => {
  // A run of its own, since the update of a ride may take minutes: an operation that is not answered in time counts as a
  // breakdown of the endpoint, and after a few of them the server holds back every call of that caller's namespace.
  const changeOperation = (change: RideChange) =>
    runOperation<typeof changeRide>('changeRide', (given, changeId) => {
      const { account, requestId, ...argument } = toInputObject(given);
      return changeRideStart(parseChangeRideInput({ account, requestId, change, argument }), changeId, taskQueue);
    });
  return nexus.serviceHandler(rideOrders, {
    followOrder: followOperation(taskQueue),
    orderTrail: async (_context, given) => {
      const key = refuseBadInput(() => parseOrderKey(given));
      const unknown = () => `order ${key.orderId} of account ${key.account} is not followed`;
      return await ask(followOrderId(key), orderTrailQuery, () => refusal('NOT_FOUND', unknown(), 'OrderNotFollowed'));
    },
    requestRide: runOperation<typeof requestRide>('requestRide', (given) =>
      rideStart(parseRequestRideInput(given), taskQueue),
    ),
    rideStatus: async (_context, given) => {
      const key = refuseBadInput(() => parseRideKey(given));
      const unknown = () => `ride ${key.requestId} of account ${key.account} was not requested`;
      return await ask(requestRideId(key), rideStatusQuery, () => refusal('NOT_FOUND', unknown(), 'RideNotRequested'));
    },
    updateRide: changeOperation('updateRide'),
    cancelRide: changeOperation('cancelRide'),
    resolveRide: changeOperation('resolveRide'),
    businessCall: runOperation<typeof businessCall>('businessCall', (given) =>
      businessCallStart(parseBusinessCallInput(given), taskQueue),
    ),
  });
};

/** What a run says of itself; an unknown one is refused, since let through it would be asked for again without end. */
async function ask<Answer>(
  workflowId: string,
  query: QueryDefinition<Answer>,
  notFound: () => nexus.HandlerError,
): Promise<Answer> {
  const client = getClient();
  try {
    return await client.withDeadline(Date.now() + queryTimeoutMs, () =>
      repeatWhenLost(() => client.workflow.getHandle(workflowId).query(query)),
    );
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? notFound() : error;
  }
}

function parseOrderKey(value: unknown): FollowOrderKey {
  const { account, orderId } = toInputFields(value, ['account', 'orderId']);
  return { account: toAccountName(account), orderId: toOrderId(orderId) };
}

function parseRideKey(value: unknown): RequestRideKey {
  const { account, requestId } = toInputFields(value, ['account', 'requestId']);
  return { account: toAccountName(account), requestId: toRideRequestId(requestId) };
}
