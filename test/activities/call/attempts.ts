import type { ApplicationFailure } from '@temporalio/common';
import { createAuthorizedCall, createQuietTimes } from '../../../src/activities/authorized-call.js';
import { createCallActivities } from '../../../src/activities/call.js';
import type { TokenSource, TokenUnavailable } from '../../../src/activities/token-source.js';
import { parseContractProfile } from '../../../src/contracts/default-contract-profile.js';
import type { BusinessCallResult, BusinessOperation, ServiceCall } from '../../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { ApiReply, ApiRequest } from '../../../src/ride-api/http.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { businessAccount, partnerAccount } from '../../ride-api/accounts.js';
import { start } from '../attempts.js';
import { attemptOnce } from '../temporal.js';

export const newOrder = {
  category: 'transportation',
  product_id: '22222222-3333-4444-8555-666666666666',
  stops: [
    {
      type: 'origin',
      actions: [{ type: 'pick_up', user: { name: 'A. Rider', phone: '15550001111' } }],
      location: { lat: 51.5, lng: -0.12 },
    },
  ],
};

/** A call with all that its operation needs. */
export function callOf(operation: BusinessOperation, more: Partial<ServiceCall> = {}): ServiceCall {
  const orderId = toOrderId('4711');
  const parts: Partial<Record<BusinessOperation, Partial<ServiceCall>>> = {
    products: { body: { origin: { lat: 51.5, lng: -0.12 } } },
    createOrder: { body: newOrder },
    orderDetails: { orderId },
    updateOrder: { orderId, body: { note_to_driver: 'at the gate' } },
    cancelOrder: { orderId },
    addReferenceCode: { referenceFieldId: '7', body: [{ value: 'A1' }, { value: 'B2' }] },
    orderReceipt: { orderId },
  };
  const account = toAccountName('business');
  return { account, operation, requestId: 'call/business/x/1', ...parts[operation], ...more };
}

export const reply = (status: number, body?: unknown, headers: ApiReply['headers'] = {}): ApiReply => ({
  status,
  headers,
  body,
});
export const refusal = (status: number, code: string, message: string): ApiReply =>
  reply(status, { status: 'error', error: { code, message } });

/** What the service does with a request: it answers, or the way to it breaks. */
export type Turn = ApiReply | Error;

/** The service, the tokens and Temporal, as far as the activity sees them. */
export interface CallStage {
  requests: (ApiRequest & { token: string })[];
  scopes: string[];
  tokenFailure: TokenUnavailable | null;
  attempt(call: ServiceCall, info?: { attempt?: number; heartbeatDetails?: unknown }): Promise<CallAttempt>;
  /** Repeats as Temporal does until the activity completes or fails for good. */
  run(call: ServiceCall): Promise<CallAttempt[]>;
}

export interface CallAttempt {
  result?: BusinessCallResult;
  failure?: ApplicationFailure;
  heartbeat: unknown;
}

export function createCallStage(turns: Turn[], overrides: unknown = {}): CallStage {
  const stage: CallStage = { requests: [], scopes: [], tokenFailure: null, attempt, run };
  const left = [...turns];
  const http = {
    async send(request: ApiRequest): Promise<ApiReply> {
      stage.requests.push({ ...request, token: request.headers.Authorization ?? '' });
      const turn = left.shift();
      if (!turn) throw new Error('the stage has no answer left');
      if (turn instanceof Error) throw turn;
      return turn;
    },
    close: async () => undefined,
  };
  let issued = 0;
  const tokens: TokenSource = {
    rejectAfresh: async () => undefined,
    async get(_account, scope) {
      if (stage.tokenFailure) throw stage.tokenFailure;
      stage.scopes.push(scope);
      issued += 1;
      return { id: `id-${issued}`, value: `token-${issued}`, askedAt: Number.MAX_SAFE_INTEGER, served: new Set() };
    },
  };
  const now = () => start;
  const rideApi = createRideApi({ profile: parseContractProfile(overrides), http, now });
  const { callService } = createCallActivities({
    account: (name) => (name === 'partner' ? partnerAccount() : businessAccount()),
    rideApi,
    call: createAuthorizedCall({ tokens, quietTimes: createQuietTimes(now), now }),
    now,
  });

  async function attempt(call: ServiceCall, info: { attempt?: number; heartbeatDetails?: unknown } = {}) {
    const { seen, failure, error, heartbeats } = await attemptOnce(info, () => callService(call));
    if (error !== undefined && !failure) throw error;
    const heartbeat = heartbeats.length > 0 ? heartbeats.at(-1) : info.heartbeatDetails;
    return { heartbeat, ...(failure && { failure }), ...(seen && { result: seen }) };
  }

  async function run(call: ServiceCall): Promise<CallAttempt[]> {
    const attempts: CallAttempt[] = [];
    let heartbeatDetails: unknown;
    while (attempts.length < 20) {
      const one: CallAttempt = await attempt(call, { attempt: attempts.length + 1, heartbeatDetails });
      attempts.push(one);
      if (!one.failure || one.failure.nonRetryable) return attempts;
      heartbeatDetails = one.heartbeat;
    }
    throw new Error('it does not end');
  }
  return stage;
}
