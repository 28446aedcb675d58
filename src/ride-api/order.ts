import type { ContractProfile } from '../contracts/contract-profile.js';
import { interfaceTerms } from '../contracts/interface-terms.js';
import type { JsonObject } from '../contracts/json.js';
import type { Keeping } from '../contracts/kept-answer.js';
import { parseOrderReply, parseReceiptReply } from '../contracts/order-reply.js';
import type { Account } from '../domain/account.js';
import type { OrderId } from '../domain/keys.js';
import type { OrderReading } from '../domain/order/trail.js';
import { RideApiGarbled } from './errors.js';
import type { ApiReply, ApiRequest } from './http.js';
import { operationRequest } from './operation-request.js';
import { isSuccess, toRideApiError } from './refusal.js';
import type { WaitTerms } from './retry-decision.js';

/** The request that reads one order. Throws `InvalidInput` as `operationRequest` does. */
export function orderRequest(
  account: Account,
  orderId: OrderId,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest {
  const { readOperation: operation } = interfaceTerms[account.interface];
  return operationRequest(account, { operation, values: { order_id: orderId }, accessToken }, profile);
}

/** What the reader of an order answer has to know of the request. */
interface OrderAnswerContext extends Keeping, WaitTerms {
  account: Account;
  orderId: OrderId;
  accessToken: string;
  profile: ContractProfile;
}

/** Reads the answer to an order look-up. Throws `RideApiError` (404 is ORDER_UNKNOWN, 401 TOKEN_REJECTED) or
 *  `UnusableReply` UNREADABLE_STATUS or ORDER_MISMATCH. */
export function interpretOrderReply(reply: ApiReply, context: OrderAnswerContext): OrderReading {
  const { account, accessToken, profile } = context;
  const { readOperation: operation } = interfaceTerms[account.interface];
  if (!isSuccess(reply) || !profile.operations[operation].success.includes(reply.status)) {
    const secrets = [accessToken, account.clientSecret];
    throw toRideApiError(reply, { ...context, secrets, notFound: 'ORDER_UNKNOWN' });
  }
  return parseOrderReply(reply.body, profile.pointers[operation], profile.statuses, context.orderId, context);
}

/** The request that reads the receipt of one order. Throws `InvalidInput` as `operationRequest` does. */
export const receiptRequest = (
  account: Account,
  orderId: OrderId,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest =>
  operationRequest(account, { operation: 'orderReceipt', values: { order_id: orderId }, accessToken }, profile);

/** Reads the answer to a receipt call. Throws `RideApiError` (404 is ORDER_UNKNOWN: no such order, or no receipt yet), or
 *  `RideApiGarbled` for a success without a receipt in it. */
export function interpretReceiptReply(reply: ApiReply, context: OrderAnswerContext): JsonObject {
  const { account, accessToken, profile } = context;
  if (!isSuccess(reply) || !profile.operations.orderReceipt.success.includes(reply.status)) {
    const secrets = [accessToken, account.clientSecret];
    throw toRideApiError(reply, { ...context, secrets, notFound: 'ORDER_UNKNOWN' });
  }
  const receipt = parseReceiptReply(reply.body, context);
  if (!receipt) throw new RideApiGarbled('NOT_JSON', new URL(account.baseUrl).origin, reply.status);
  return receipt;
}
