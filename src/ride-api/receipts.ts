import type { ContractProfile } from '../contracts/contract-profile.js';
import type { JsonObject } from '../contracts/json-object.js';
import { parseReceiptReply } from '../contracts/receipt-reply.js';
import type { Account } from '../domain/account.js';
import { type OrderId, type Scope, toScope } from '../domain/keys.js';
import { RideApiGarbled } from './errors.js';
import type { ApiReply, ApiRequest } from './http.js';
import { operationRequest } from './operation-request.js';
import type { OrderAnswerContext } from './orders.js';
import { isSuccess, toRideApiError } from './refusal.js';

/** The scope of the token that reading a receipt needs. */
export const receiptScope = (profile: ContractProfile): Scope => toScope(profile.operations.orderReceipt.scope);

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
  const receipt = parseReceiptReply(reply.body);
  if (!receipt) throw new RideApiGarbled('NOT_JSON', new URL(account.baseUrl).origin, reply.status);
  return receipt;
}
