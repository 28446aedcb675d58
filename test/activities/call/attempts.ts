import type { Info } from '@temporalio/activity';
import { createAuthorizedCall, createQuietTimes } from '../../../src/activities/authorized-call.js';
import { createCallActivities, createClaimActivities } from '../../../src/activities/call.js';
import { parseContractProfile } from '../../../src/contracts/default-contract-profile.js';
import type { BusinessOperation, ServiceCall } from '../../../src/domain/call.js';
import { type AccountName, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { OrderClaim } from '../../../src/domain/workflow-ids.js';
import type { ApiReply, ApiRequest } from '../../../src/ride-api/http.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { businessAccount, partnerAccount } from '../../ride-api/accounts.js';
import { nextOf, tokensInOrder } from '../service.js';
import { attemptOnce, repeatAttempts, second, start } from '../temporal.js';

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

export const reply = (status: number, body?: unknown, headers = {}): ApiReply => ({ status, headers, body });
export const refusal = (status: number, code: string, message: string): ApiReply =>
  reply(status, { status: 'error', error: { code, message } });

/** The service, the tokens and Temporal, as far as the activity sees them. The way to the service breaks with an Error. */
export function createCallStage(
  turns: (ApiReply | Error)[],
  overrides: unknown = {},
  { keepsPersonalData = true, stores = false } = {},
) {
  const requests: ApiRequest[] = [];
  const left = [...turns];
  const http = {
    async send(request: ApiRequest): Promise<ApiReply> {
      requests.push(request);
      return nextOf(left);
    },
    close: async () => undefined,
  };
  const tokens = tokensInOrder();
  const clock = { now: start };
  const now = () => clock.now;
  const ports = {
    account: (name: AccountName) => (name === 'partner' ? partnerAccount() : businessAccount()),
    rideApi: createRideApi({ profile: parseContractProfile(overrides), http, now, keepsPersonalData }),
    call: createAuthorizedCall({ tokens, quietTimes: createQuietTimes(now), now }),
    stores,
    now,
  };
  const { callService } = createCallActivities(ports);
  const { confirmOrder } = createClaimActivities(ports);
  const attempt = (call: ServiceCall, info: Partial<Info> = {}) => attemptOnce(info, () => callService(call));
  /** Repeats as Temporal does, by its own retry policy, until the activity completes or fails for good. */
  const run = (call: ServiceCall) =>
    repeatAttempts(
      clock,
      {},
      (info) => attempt(call, info),
      ({ failure }) => Number(failure?.nextRetryDelay ?? second),
    );
  const confirm = (claim: OrderClaim) => attemptOnce({}, () => confirmOrder(claim));
  return { requests, tokens, attempt, run, confirm, elapsedMs: () => clock.now - start };
}
