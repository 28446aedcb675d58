import { type WallClock, wallMs } from '../clock.js';
import { phonesIn } from '../contracts/call-bodies.js';
import { type ContractProfile, interfaceTerms, type OperationName } from '../contracts/contract-profile.js';
import { parseEstimateReply } from '../contracts/estimate-reply.js';
import type { JsonObject } from '../contracts/json.js';
import { type Keeping, toKeptAnswer } from '../contracts/kept-answer.js';
import { isCancelled, isChanged, parseOrderReply, parseReceiptReply } from '../contracts/order-reply.js';
import { parseSubscriber, parseSubscriberList, type Subscriber } from '../contracts/subscriber-reply.js';
import type { TokenReply } from '../contracts/token-reply.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import { type BusinessCallResult, type BusinessOperation, isAboutOrder, type ServiceCall } from '../domain/call.js';
import type { OrderId, Scope } from '../domain/keys.js';
import type { OrderReading } from '../domain/order/trail.js';
import type { Estimate } from '../domain/ride/quote.js';
import type { EventType } from '../domain/subscription/subscription.js';
import { RideApiError, RideApiGarbled } from './errors.js';
import { type ApiReply, createHttp, type Http } from './http.js';
import { createdOrderOf, namedOrderOf } from './named-order.js';
import { type OperationCall, operationRequest, operationScope } from './operation-request.js';
import { defaultMaxWaitMs, isSuccess, type RefusalContext, toRideApiError } from './refusal.js';
import { interpretTokenReply, tokenRequest } from './token.js';

/** The service as the rest of the worker sees it. Each call is one exchange; waiting and repeating are Temporal's.
 *  All of them throw `RideApiUnreachable`, `RideApiGarbled`, or the reason of an aborted `signal`, and all but the token request throw
 *  `InvalidInput` where the profile or a value of the call makes no request. */
export type RideApi = ReturnType<typeof createRideApi>;

/** What the client is made of; all but the profile has a default. */
export interface RideApiOptions extends Keeping {
  profile: ContractProfile;
  http?: Http;
  /** A longer `Retry-After` is cut to it. */
  retryAfterMaxMs?: number;
  /** Epoch milliseconds. */
  now?: WallClock;
}

/** Makes the client of both interfaces. It holds no credentials and no token: each call brings its own. */
export function createRideApi(options: RideApiOptions) {
  const { profile, http = createHttp(), retryAfterMaxMs = defaultMaxWaitMs, now = wallMs } = options;
  const waitTerms = () => ({ now: now(), maxWaitMs: retryAfterMaxMs });
  const ask: Ask = async (account, call, read, { signal, secrets = [], ...manner } = {}) => {
    const reply = await http.send(operationRequest(account, call, profile), signal);
    const isListed = profile.operations[call.operation].success.includes(reply.status);
    const found = isSuccess(reply) ? read(reply, isListed) : undefined;
    if (found !== undefined) return found;
    const kept = [call.accessToken, account.clientSecret, ...secrets];
    throw toRideApiError(reply, { ...manner, ...waitTerms(), secrets: kept });
  };
  return {
    /** The scope of the token that an operation needs. Throws `InvalidInput` where the account cannot ask for the operation. */
    scopeOf: (account: Account, operation: OperationName): Scope => operationScope(account, operation, profile),
    /** Throws `TokenRefused`, `RideApiError`, `UnusableReply` NO_TOKEN. */
    async requestToken(account: Account, scope: Scope, signal?: AbortSignal): Promise<TokenReply> {
      const reply = await http.send(tokenRequest(account, scope, profile), signal);
      return interpretTokenReply(reply, { account, scope, profile, ...waitTerms() });
    },
    ...orderReads(ask, options),
    ...businessCalls(ask, options),
    ...subscriberCalls(ask, { profile }),
    /** Closes the HTTP client, one that was passed in too. */
    close: (): Promise<void> => http.close(),
  };
}

/** How an answer is taken. */
interface AskManner extends Pick<RefusalContext, 'notFound' | 'phones' | 'namedOrder'> {
  signal?: AbortSignal | undefined;
  /** What no error may repeat, beside the credentials. */
  secrets?: RefusalContext['secrets'];
}

/**
 * One call of an operation. `read` gets a success, and whether the profile lists its status for the operation; undefined means that it is
 * not the success asked for. Throws `RideApiError` for that and for any refusal.
 */
type Ask = <T>(
  account: Account,
  call: OperationCall,
  read: (reply: ApiReply, isListed: boolean) => T | undefined,
  manner?: AskManner,
) => Promise<T>;

const notJson = ({ baseUrl }: Account, { status }: ApiReply) =>
  new RideApiGarbled('NOT_JSON', new URL(baseUrl).origin, status);

const orderReads = (ask: Ask, { profile, ...keeping }: RideApiOptions) => ({
  /** Throws `RideApiError` (404 is ORDER_UNKNOWN, 401 TOKEN_REJECTED), `UnusableReply` UNREADABLE_STATUS or ORDER_MISMATCH. */
  readOrder(account: Account, orderId: OrderId, accessToken: string, signal?: AbortSignal): Promise<OrderReading> {
    const { readOperation: operation } = interfaceTerms[account.interface];
    const { pointers, statuses } = profile;
    const read = ({ body }: ApiReply, isListed: boolean) =>
      isListed ? parseOrderReply(body, pointers[operation], statuses, orderId, keeping) : undefined;
    const call = { operation, values: { order_id: orderId }, accessToken };
    return ask(account, call, read, { signal, notFound: 'ORDER_UNKNOWN' });
  },
  /** The receipt of an order, or what is kept of it. Throws `RideApiError` (404 is ORDER_UNKNOWN: no such order, or no receipt yet). */
  readReceipt(account: Account, orderId: OrderId, accessToken: string, signal?: AbortSignal): Promise<JsonObject> {
    const read = (reply: ApiReply, isListed: boolean): JsonObject | undefined => {
      const receipt = parseReceiptReply(reply.body, keeping);
      if (isListed && !receipt) throw notJson(account, reply);
      return isListed ? receipt : undefined;
    };
    const call = { operation: 'orderReceipt', values: { order_id: orderId }, accessToken } as const;
    return ask(account, call, read, { signal, notFound: 'ORDER_UNKNOWN' });
  },
});

/** The values of a report page, which `parseCallBody` has read. */
const toQuery = (body: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(body ?? {}).map(([name, value]) => [name, String(value)]));

const toOperationCall = (
  { operation, orderId, referenceFieldId, body, requestId }: ServiceCall,
  accessToken: string,
): OperationCall => ({
  ...{ operation, accessToken, body: operation === 'orderReport' ? undefined : body, requestId },
  values: {
    ...(operation === 'orderReport' ? toQuery(body) : {}),
    ...(orderId === undefined ? {} : { order_id: orderId }),
    ...(referenceFieldId === undefined ? {} : { reference_field_id: referenceFieldId }),
  },
});

const businessCalls = (ask: Ask, { profile, keepsPersonalData }: RideApiOptions) => ({
  /** One business operation for a caller. Throws `RideApiError` (404 of a call about an order is ORDER_UNKNOWN), `UnusableReply`
   *  NO_ORDER_ID. `effectOf` says of a failure whether the service may have carried out the call. */
  callOperation(
    account: Account,
    call: ServiceCall,
    accessToken: string,
    beforeSending?: () => void,
  ): Promise<BusinessCallResult> {
    const { operation, body: sent } = call;
    const asked = { ...toOperationCall(call, accessToken), beforeSending };
    const order = (reply: ApiReply, find: typeof namedOrderOf): OrderId | undefined =>
      operation === 'createOrder'
        ? find(reply, operationRequest(account, asked, profile).url, profile.pointers)
        : undefined;
    const named = (reply: ApiReply) => order(reply, namedOrderOf);
    const read = (reply: ApiReply, isListed: boolean): BusinessCallResult | undefined => {
      const { status, body } = reply;
      const made = order(reply, createdOrderOf);
      if (made === undefined && !isListed) return undefined;
      if (made === undefined && operation === 'createOrder') throw new UnusableReply('NO_ORDER_ID', named(reply));
      const about = { ...call, ...(made && { orderId: made }) };
      const kept = toKeptAnswer(body, { call: about, profile, keepsPersonalData });
      return { operation, status, body: kept, ...(made && { orderId: made }) };
    };
    return ask(account, asked, read, {
      namedOrder: named,
      notFound: isAboutOrder(operation) ? 'ORDER_UNKNOWN' : 'NOT_FOUND',
      phones: keepsPersonalData ? phonesIn(sent) : undefined, // the service's own words may name a person
    });
  },
  /** Reads the order to see whether a change or a cancellation has been carried out; null while not. Throws `RideApiError`. */
  readEffect(account: Account, call: ServiceCall, accessToken: string): Promise<BusinessCallResult | null> {
    const { body: wanted, operation, ...about } = call;
    const look: ServiceCall = { ...about, operation: 'orderDetails' };
    const read = ({ status, body }: ApiReply, isListed: boolean): BusinessCallResult | null | undefined => {
      if (!isListed) return undefined;
      const isDone = operation === 'cancelOrder' ? isCancelled(body, profile) : isChanged(body, wanted, profile);
      return isDone
        ? { operation, status, body: toKeptAnswer(body, { call: look, profile, keepsPersonalData }) }
        : null;
    };
    const phones = keepsPersonalData ? phonesIn(wanted) : undefined;
    return ask(account, toOperationCall(look, accessToken), read, { notFound: 'ORDER_UNKNOWN', phones });
  },
  /** The price estimate for a create. Throws `RideApiError`, `UnusableReply` NO_QUOTE. */
  askEstimate(account: Account, body: Record<string, unknown>, accessToken: string): Promise<Estimate> {
    const call = { operation: 'priceEstimate', values: {}, accessToken, body } as const;
    const read = (reply: ApiReply, isListed: boolean): Estimate | undefined =>
      isListed ? parseEstimateReply(reply.body, profile.pointers.priceEstimate) : undefined;
    return ask(account, call, read, { phones: keepsPersonalData ? [] : undefined });
  },
  /** Was the service seen to know a repeated request by its id, so that one whose answer was lost may be sent again? */
  knowsRepeats: (operation: BusinessOperation): boolean => profile.operations[operation].repeatable === true,
});

/** A subscription to make. The address holds a secret: never log it, never attach it to an error. */
export interface NewSubscriber {
  deliveryAddress: string;
  eventType: EventType;
}

/** 43 characters of base64url, as at the end of every address of ours: a service may speak of another one than we do. */
const anyPath = /[\w-]{43}/;

const subscriberCalls = (ask: Ask, { profile }: Pick<RideApiOptions, 'profile'>) => ({
  /** Subscribes to one event type: a plain string goes out, a list of objects comes back (given), with the further fields of the profile. Any 2xx that names the subscriber is one.
   *  Throws `RideApiError`; `effectOf` says what it means. */
  createSubscriber(
    account: Account,
    { deliveryAddress, eventType }: NewSubscriber,
    accessToken: string,
  ): Promise<Subscriber> {
    const body = { ...profile.subscription.body, hook_address: deliveryAddress, event_types: eventType };
    const lastSegment = deliveryAddress.slice(deliveryAddress.lastIndexOf('/') + 1);
    return ask(
      account,
      { operation: 'createSubscriber', values: {}, accessToken, body },
      (reply) => parseSubscriber(reply.body),
      { secrets: [deliveryAddress, lastSegment, anyPath] },
    );
  },
  /** The company's subscribers (assumed). Throws `RideApiError`; `InvalidInput` while the profile switches it off. */
  listSubscribers: (account: Account, accessToken: string): Promise<Subscriber[]> =>
    ask(
      account,
      { operation: 'listSubscribers', values: {}, accessToken },
      (reply) => {
        const subscribers = parseSubscriberList(reply.body);
        if (!subscribers) throw notJson(account, reply);
        return subscribers;
      },
      { secrets: [anyPath] },
    ),
  /** Ends a subscription (assumed). One that is gone already counts as deleted. Throws `RideApiError`; `InvalidInput` while the profile
   *  switches it off. */
  async deleteSubscriber(account: Account, id: string, accessToken: string): Promise<void> {
    const call = { operation: 'deleteSubscriber', values: { id }, accessToken } as const;
    await ask(account, call, () => true, { secrets: [anyPath] }).catch((error: unknown) => {
      if (!(error instanceof RideApiError) || error.code !== 'NOT_FOUND') throw error;
    });
  },
});
