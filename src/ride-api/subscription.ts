import type { ContractProfile } from '../contracts/contract-profile.js';
import { parseErrorBody } from '../contracts/error-body.js';
import { parseSubscriber, parseSubscriberList, type Subscriber } from '../contracts/subscriber-reply.js';
import type { Account } from '../domain/account.js';
import type { EventType } from '../domain/subscription/subscription.js';
import { type RideApiError, RideApiGarbled } from './errors.js';
import type { ApiReply, ApiRequest } from './http.js';
import { operationRequest } from './operation-request.js';
import { isSuccess, toRideApiError } from './refusal.js';
import type { WaitTerms } from './retry-decision.js';

/** A subscription to make. The address holds a secret: never log it, never attach it to an error. */
export interface NewSubscriber {
  deliveryAddress: string;
  eventType: EventType;
}

/** What the reader of an answer about subscribers has to know of the request. */
export interface SubscriberAnswerContext extends WaitTerms {
  account: Account;
  accessToken: string;
  /** What the request carried besides its token, and no error may repeat. */
  deliveryAddress?: string;
}

/** The request that subscribes to one event type: a plain string goes out, a list of objects comes back (given). */
export function createSubscriberRequest(
  account: Account,
  { deliveryAddress, eventType }: NewSubscriber,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest {
  const body = { hook_address: deliveryAddress, event_types: eventType };
  return operationRequest(account, { operation: 'createSubscriber', values: {}, accessToken, body }, profile);
}

/** Reads the answer to a subscription. Any 2xx that names the subscriber is one; a 2xx that does not leaves the outcome
 *  unclear (`RideApiError` UNEXPECTED_STATUS). Other answers throw `RideApiError` as well. */
export function interpretSubscriberReply(reply: ApiReply, context: SubscriberAnswerContext): Subscriber {
  const subscriber = isSuccess(reply) ? parseSubscriber(reply.body) : undefined;
  if (!subscriber) throw refusal(reply, context);
  return subscriber;
}

/** The request that lists the company's subscribers (assumed). Throws `InvalidInput` while the profile switches it off. */
export const listSubscribersRequest = (account: Account, accessToken: string, profile: ContractProfile): ApiRequest =>
  operationRequest(account, { operation: 'listSubscribers', values: {}, accessToken }, profile);

/** Reads a list of subscribers. Throws `RideApiError`, or `RideApiGarbled` for a success without a list in it. */
export function interpretSubscriberList(reply: ApiReply, context: SubscriberAnswerContext): Subscriber[] {
  if (!isSuccess(reply)) throw refusal(reply, context);
  const subscribers = parseSubscriberList(reply.body);
  if (!subscribers) throw new RideApiGarbled('NOT_JSON', new URL(context.account.baseUrl).origin, reply.status);
  return subscribers;
}

/** The request that ends a subscription (assumed). Throws `InvalidInput` while the profile switches it off. */
export function deleteSubscriberRequest(
  account: Account,
  id: string,
  accessToken: string,
  profile: ContractProfile,
): ApiRequest {
  return operationRequest(account, { operation: 'deleteSubscriber', values: { id }, accessToken }, profile);
}

/** Reads the answer to a deletion: 404 says that it is gone already. Throws `RideApiError`. */
export function interpretSubscriberDeletion(reply: ApiReply, context: SubscriberAnswerContext): void {
  if (reply.status !== 404 && !isSuccess(reply)) throw refusal(reply, context);
}

/** 43 characters of base64url, as at the end of every address of ours: a service may speak of another one than we do. */
const looksLikePath = /[\w-]{43}/;

function refusal(reply: ApiReply, context: SubscriberAnswerContext): RideApiError {
  const { account, accessToken, deliveryAddress } = context;
  const { code, requestId } = parseErrorBody(reply.body);
  const paths = [code, requestId, reply.headers['x-request-id']].filter((word) => looksLikePath.test(word ?? ''));
  const lastSegment = deliveryAddress?.slice(deliveryAddress.lastIndexOf('/') + 1);
  const secrets = [accessToken, account.clientSecret, deliveryAddress, lastSegment, ...paths];
  const given = secrets.filter((secret) => typeof secret === 'string');
  return toRideApiError(reply, { ...context, secrets: given, notFound: 'NOT_FOUND' });
}
