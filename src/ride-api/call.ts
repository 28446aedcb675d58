import { phonesIn } from '../contracts/call-bodies.js';
import { findCreatedOrder, isCancelled, isChanged } from '../contracts/call-reply.js';
import type { ContractProfile } from '../contracts/contract-profile.js';
import { isMadeBy, readSearch, type Searched } from '../contracts/found-order.js';
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

/** Reads whether the order itself names the request id of the call. Throws `RideApiError`. */
export function interpretConfirmation(reply: ApiReply, context: CallAnswerContext): boolean {
  const { requestId, orderId } = context.call;
  interpretCallReply(reply, context);
  return orderId !== undefined && isMadeBy(reply.body, { orderId, requestId }, context.profile.pointers.orderDetails);
}

/** The request that searches for the order of a create (assumed). Throws `InvalidInput` while the profile switches it off. */
export const searchRequest = (
  account: Account,
  { requestId }: ServiceCall,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest =>
  operationRequest(account, { operation: 'findOrder', values: { request_id: requestId }, accessToken }, profile);

/** What a search for the order of a create has shown; `result` is that of the create. */
export type SearchResult = { kind: 'order'; result: BusinessCallResult } | Exclude<Searched, { kind: 'order' }>;

/** RFC 8288 section 3.3: the answer names its next page. */
const namesNextPage = /;\s*rel\s*=\s*"?[^",;]*\bnext\b/i;

/** Reads the answer to a search. Throws `RideApiError`, `UnusableReply` NO_LIST. */
export function interpretSearch(reply: ApiReply, context: CallAnswerContext): SearchResult {
  const { call, profile } = context;
  if (!isSuccess(reply) || !profile.operations.findOrder.success.includes(reply.status)) throw refusal(reply, context);
  const found = readSearch(reply.body, call.requestId, profile.pointers.findOrder);
  if (found.kind !== 'order') return found;
  if (namesNextPage.test(reply.headers.link ?? '')) return { kind: 'incomplete' };
  const { orderId, order } = found;
  const about = { ...context, call: { ...call, orderId } };
  return { kind: 'order', result: resultOf(reply, order, about, orderId) };
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
