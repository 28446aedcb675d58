import type { ContractProfile, OperationName } from '../contracts/contract-profile.js';
import type { JsonObject } from '../contracts/json.js';
import type { Keeping } from '../contracts/kept-answer.js';
import type { Subscriber } from '../contracts/subscriber-reply.js';
import type { TokenReply } from '../contracts/token-reply.js';
import type { Account } from '../domain/account.js';
import type { BusinessCallResult, BusinessOperation, ServiceCall } from '../domain/call.js';
import type { OrderId, Scope } from '../domain/keys.js';
import type { OrderReading } from '../domain/order/trail.js';
import { callRequest, interpretCallReply, interpretEffect, knowsRepeats } from './call.js';
import { createHttp, type Http } from './http.js';
import { operationScope } from './operation-request.js';
import { interpretOrderReply, interpretReceiptReply, orderRequest, receiptRequest } from './order.js';
import { defaultMaxWaitMs } from './retry-decision.js';
import {
  createSubscriberRequest,
  deleteSubscriberRequest,
  interpretSubscriberDeletion,
  interpretSubscriberList,
  interpretSubscriberReply,
  listSubscribersRequest,
  type NewSubscriber,
} from './subscription.js';
import { interpretTokenReply, tokenRequest } from './token.js';

/** The service as the rest of the worker sees it. Each call is one exchange; waiting and repeating are Temporal's.
 *  All of them throw `RideApiUnreachable`, `RideApiGarbled`, or the reason of an aborted `signal`. */
export interface RideApi {
  /** The scope of the token that an operation needs. Throws `InvalidInput` where the account cannot ask for the operation. */
  scopeOf(account: Account, operation: OperationName): Scope;
  /** Throws `TokenRefused`, `RideApiError`, `UnusableReply` NO_TOKEN. */
  requestToken(account: Account, scope: Scope, signal?: AbortSignal): Promise<TokenReply>;
  /** Throws `RideApiError`, `UnusableReply`; `InvalidInput` for an order id or a profile that makes no request. */
  readOrder(account: Account, orderId: OrderId, accessToken: string, signal?: AbortSignal): Promise<OrderReading>;
  /** The receipt of an order, or what is kept of it. Throws `RideApiError`; `InvalidInput` where there are no receipts. */
  readReceipt(account: Account, orderId: OrderId, accessToken: string, signal?: AbortSignal): Promise<JsonObject>;
  /** One business operation for a caller. Throws `RideApiError`, `InvalidInput`, `UnusableReply` NO_ORDER_ID; see
   *  `isOutcomeUnclear` for what a failure of a changing call says about its outcome. */
  callOperation(
    account: Account,
    call: ServiceCall,
    accessToken: string,
    signal?: AbortSignal,
  ): Promise<BusinessCallResult>;
  /** Reads the order to see whether a change or a cancellation has been carried out; null while not. Throws `RideApiError`. */
  readEffect(
    account: Account,
    call: ServiceCall,
    accessToken: string,
    signal?: AbortSignal,
  ): Promise<BusinessCallResult | null>;
  /** May a call be repeated with its request id though its outcome is unclear? */
  knowsRepeats(operation: BusinessOperation): boolean;
  /** Throws `RideApiError`; see `isOutcomeUnclear` for what a failure says about the outcome. */
  createSubscriber(account: Account, subscriber: NewSubscriber, accessToken: string): Promise<Subscriber>;
  /** Throws `RideApiError`; `InvalidInput` while the profile switches it off. */
  listSubscribers(account: Account, accessToken: string): Promise<Subscriber[]>;
  /** One that is gone already counts as deleted. Throws `RideApiError`; `InvalidInput` while the profile switches it off. */
  deleteSubscriber(account: Account, id: string, accessToken: string): Promise<void>;
  /** Closes the HTTP client, one that was passed in too. */
  close(): Promise<void>;
}

/** What the client is made of; all but the profile has a default. */
export interface RideApiOptions extends Keeping {
  profile: ContractProfile;
  http?: Http;
  /** A longer `Retry-After` is cut to it. */
  retryAfterMaxMs?: number;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Makes the client of both interfaces. It holds no credentials and no token: each call brings its own. */
export function createRideApi({
  profile,
  keepsPersonalData,
  http = createHttp(),
  retryAfterMaxMs = defaultMaxWaitMs,
  now = Date.now,
}: RideApiOptions): RideApi {
  const terms = () => ({ now: now(), maxWaitMs: retryAfterMaxMs });
  return {
    scopeOf: (account, operation) => operationScope(account, operation, profile),
    async requestToken(account, scope, signal) {
      const reply = await http.send(tokenRequest(account, scope, profile), signal);
      return interpretTokenReply(reply, { account, scope, profile, ...terms() });
    },
    async readOrder(account, orderId, accessToken, signal) {
      const reply = await http.send(orderRequest(account, orderId, accessToken, profile), signal);
      return interpretOrderReply(reply, { account, orderId, accessToken, profile, keepsPersonalData, ...terms() });
    },
    async readReceipt(account, orderId, accessToken, signal) {
      const reply = await http.send(receiptRequest(account, orderId, accessToken, profile), signal);
      return interpretReceiptReply(reply, { account, orderId, accessToken, profile, keepsPersonalData, ...terms() });
    },
    async callOperation(account, call, accessToken, signal) {
      const reply = await http.send(callRequest(account, call, accessToken, profile), signal);
      return interpretCallReply(reply, { account, call, accessToken, profile, keepsPersonalData, ...terms() });
    },
    async readEffect(account, call, accessToken, signal) {
      const { body: _, ...about } = call;
      const look = { ...about, operation: 'orderDetails' as const };
      const reply = await http.send(callRequest(account, look, accessToken, profile), signal);
      return interpretEffect(reply, { account, call, accessToken, profile, keepsPersonalData, ...terms() });
    },
    knowsRepeats: (operation) => knowsRepeats(operation, profile),
    async createSubscriber(account, subscriber, accessToken) {
      const reply = await http.send(createSubscriberRequest(account, subscriber, accessToken, profile));
      const { deliveryAddress } = subscriber;
      return interpretSubscriberReply(reply, { account, accessToken, deliveryAddress, ...terms() });
    },
    async listSubscribers(account, accessToken) {
      const reply = await http.send(listSubscribersRequest(account, accessToken, profile));
      return interpretSubscriberList(reply, { account, accessToken, ...terms() });
    },
    async deleteSubscriber(account, id, accessToken) {
      const reply = await http.send(deleteSubscriberRequest(account, id, accessToken, profile));
      interpretSubscriberDeletion(reply, { account, accessToken, ...terms() });
    },
    close: () => http.close(),
  };
}
