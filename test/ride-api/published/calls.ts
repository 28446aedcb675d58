import { parseCallBody } from '../../../src/contracts/call-bodies.js';
import type { BusinessOperation, ServiceCall } from '../../../src/domain/call.js';
import { FaretrailError } from '../../../src/domain/errors.js';
import { toOrderId, toScope } from '../../../src/domain/keys.js';
import { RideApiError, TokenRefused } from '../../../src/ride-api/errors.js';
import type { RideApi } from '../../../src/ride-api/ride-api.js';
import { published } from '../../fixtures/published.js';
import { businessAccount, partnerAccount } from '../accounts.js';
import { answerJson, rideApi, serve, textOf } from '../loopback-server.js';

export const orderId = toOrderId('71000123');
const token = 't0ken';

/** One call of the client at this base URL. */
export type Call = (api: RideApi, base: string) => Promise<unknown>;

/** A call whose answer goes to a caller, as far as it is kept. */
export interface CallerCall extends Call {
  operation: BusinessOperation;
}

/** The order of an account at one of the interfaces, as the runs that follow it read it. */
export const readOrder =
  (account: (base: string) => ReturnType<typeof partnerAccount>): Call =>
  (api, base) =>
    api.readOrder(account(base), orderId, token);

/** A business call for a caller. */
export function business(operation: BusinessOperation, more: Partial<ServiceCall> = {}): CallerCall {
  const call = (api: RideApi, base: string) => {
    const account = businessAccount(base, base);
    const body = parseCallBody(operation, more.body);
    const sent = { ...more, account: account.name, operation, requestId: 'call/x', ...(body ? { body } : {}) };
    return api.callOperation(account, sent, token);
  };
  return Object.assign(call, { operation });
}

export const tokenOf =
  (account: 'partner' | 'business', scope: string): Call =>
  (api, base) =>
    api.requestToken(account === 'partner' ? partnerAccount(base) : businessAccount(base, base), toScope(scope));

export const receipt: Call = (api, base) => api.readReceipt(businessAccount(base), orderId, token);

export const estimate: Call = (api, base) => {
  const request = published('business-price-estimate-request') as Record<string, unknown>;
  return api.askEstimate(businessAccount(base), request, token);
};

export const subscriber: Call = (api, base) => {
  const wanted = { deliveryAddress: 'https://receiver.example/hook', eventType: 'business_report' } as const;
  return api.createSubscriber(businessAccount(base), wanted, token);
};

/** What the service got. */
interface Sent {
  request: string;
  headers: NodeJS.Dict<string | string[]>;
  body: unknown;
}

/** A service that answers every request with the body last set; the calls get it through real HTTP. */
export async function service() {
  let answer: { status: number; body: unknown } = { status: 200, body: {} };
  let last: Sent | undefined;
  const base = await serve(async (request, response) => {
    const text = await textOf(request);
    const isJson = request.headers['content-type'] === 'application/json' && text !== '';
    const body = isJson ? JSON.parse(text) : text;
    last = { request: `${request.method} ${request.url}`, headers: request.headers, body };
    answerJson(response, answer.status, answer.body);
  });
  const apis = { clear: rideApi(), encrypted: rideApi({}, { keepsPersonalData: true }) };
  return {
    /** What the call gives of this answer: its result, or its failure in the words that callers and runs see. */
    async gives(call: Call, body: unknown, { status = 200, payloads = 'clear' as keyof typeof apis } = {}) {
      answer = { status, body };
      return await call(apis[payloads], base).catch(failureOf);
    },
    sent: () => last,
  };
}

function failureOf(error: unknown) {
  if (!(error instanceof FaretrailError)) throw error;
  const { name, code } = error;
  if (error instanceof TokenRefused) return { name, code, upstreamCode: error.upstreamCode, text: error.message };
  if (!(error instanceof RideApiError)) return { name, code };
  const { status, upstreamCode, upstreamFields, upstreamMessage } = error;
  return { name, code, status, upstreamCode, upstreamFields, upstreamMessage, text: error.message };
}
