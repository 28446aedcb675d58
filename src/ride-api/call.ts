import { phonesIn } from '../contracts/call-bodies.js';
import { findCreatedOrder, isCancelled, isChanged } from '../contracts/call-reply.js';
import type { ContractProfile } from '../contracts/contract-profile.js';
import { type Keeping, toKeptAnswer } from '../contracts/kept-answer.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import type { BusinessCallResult, BusinessOperation, ServiceCall } from '../domain/call.js';
import { isAboutOrder } from '../domain/call.js';
import type { OrderId } from '../domain/keys.js';
import type { ApiReply, ApiRequest } from './http.js';
import { operationRequest } from './operation-request.js';
import { isSuccess, toRideApiError } from './refusal.js';
import type { WaitTerms } from './retry-decision.js';

/** Was the service seen to know a repeated request by its id, so that it is safe to repeat one whose answer was lost? */
export const knowsRepeats = (operation: BusinessOperation, profile: ContractProfile): boolean =>
  profile.operations[operation].repeatable === true;

/** The request of one call. Throws `InvalidInput` as `operationRequest` does. */
export function callRequest(
  account: Account,
  call: ServiceCall,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest {
  const { operation, orderId, referenceFieldId, body, requestId } = call;
  const values = {
    ...(orderId === undefined ? {} : { order_id: orderId }),
    ...(referenceFieldId === undefined ? {} : { reference_field_id: referenceFieldId }),
  };
  return operationRequest(account, { operation, values, accessToken, body, requestId }, profile);
}

/** What the reader of an answer has to know of the request. */
export interface CallAnswerContext extends Keeping, WaitTerms {
  account: Account;
  call: ServiceCall;
  accessToken: string;
  profile: ContractProfile;
}

/** Reads the answer to a call. Throws `RideApiError` (404 of a call about an order is ORDER_UNKNOWN), or `UnusableReply`
 *  NO_ORDER_ID. What it gives holds personal data only where that is kept. */
export function interpretCallReply(reply: ApiReply, context: CallAnswerContext): BusinessCallResult {
  const { call, profile } = context;
  const { operation } = call;
  const isExpected = isSuccess(reply) && profile.operations[operation].success.includes(reply.status);
  const made =
    operation === 'createOrder' && isSuccess(reply) ? findCreatedOrder(reply.body, profile.pointers) : undefined;
  if (made === undefined) {
    if (!isExpected) throw refusal(reply, context);
    if (operation === 'createOrder') throw new UnusableReply('NO_ORDER_ID');
  }
  return resultOf(reply, reply.body, { ...context, call: { ...call, ...(made && { orderId: made }) } }, made);
}

const resultOf = (
  { status }: ApiReply,
  answer: unknown,
  context: CallAnswerContext,
  made?: OrderId,
): BusinessCallResult => ({
  operation: context.call.operation,
  status,
  body: toKeptAnswer(answer, context),
  ...(made && { orderId: made }),
});

/** Reads an order that was looked up to see whether a call about it has been carried out. Null while it has not.
 *  Throws `RideApiError`. */
export function interpretEffect(reply: ApiReply, context: CallAnswerContext): BusinessCallResult | null {
  const { call, profile } = context;
  const { status, body } = interpretCallReply(reply, { ...context, call: { ...call, operation: 'orderDetails' } });
  const isDone =
    call.operation === 'cancelOrder' ? isCancelled(reply.body, profile) : isChanged(reply.body, call.body, profile);
  return isDone ? { operation: call.operation, status, body } : null;
}

function refusal(reply: ApiReply, context: CallAnswerContext) {
  const { account, call, accessToken } = context;
  const notFound = isAboutOrder(call.operation) ? 'ORDER_UNKNOWN' : 'NOT_FOUND';
  // The service's own words may name a person.
  const phones = context.keepsPersonalData ? phonesIn(call.body) : undefined;
  return toRideApiError(reply, {
    ...context,
    secrets: [accessToken, account.clientSecret],
    notFound,
    ...(phones && { phones }),
  });
}
