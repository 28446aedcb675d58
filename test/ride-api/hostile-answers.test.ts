import { describe, expect, it } from 'vitest';
import { FaretrailError } from '../../src/domain/errors.js';
import { shownText } from '../../src/domain/json.js';
import { toOrderId, toScope } from '../../src/domain/keys.js';
import type { Http } from '../../src/ride-api/http.js';
import type { RideApi } from '../../src/ride-api/ride-api.js';
import { fieldsRead, hostileFields, hostileJson, hostilities } from '../support/hostile/json.js';
import { businessAccount, partnerAccount } from './accounts.js';
import { rideApi, serve } from './loopback-server.js';

const orderId = toOrderId('o1');
const order = { id: 'o1', status: 'Driving', supplier: { driver: { name: 'N' } } };
const refusal = { error: { code: 'CODE', message: 'no' }, request_id: 'r1' };
const receipt = { payment_summary: { total_inc_tax: '22.00' } };
const made = { id: 'o1', driver: { rating: 5 } };
const call = { account: businessAccount().name, requestId: 'q1' };
const create = { ...call, operation: 'createOrder', body: {} } as const;
const cancel = { ...call, operation: 'cancelOrder', orderId } as const;
const deliveryAddress = `https://rides.example/webhooks/${'x'.repeat(43)}`;
const wanted = { deliveryAddress, eventType: 'status_changed' } as const;
const subscriber = { id: 's1', secret_id: 's', hook_address: deliveryAddress, created_at: 't', updated_at: 't' };
const subscribers = { subscribers: [subscriber] };
const token = { access_token: 'a', token_type: 'bearer', expires_in: 60, scope: 'x' };
const noToken = { error: 'invalid_scope', error_description: 'no' };

/** The service at this URL, as each of its accounts sees it. */
const accountsAt = (url: string) => ({ partner: partnerAccount(url), business: businessAccount(url, url) });

interface Reader {
  /** What the service answers when all is well. */
  base: unknown;
  status?: number;
  ask(api: RideApi, accounts: ReturnType<typeof accountsAt>): Promise<unknown>;
}

const readers: Record<string, Reader> = {
  orderStatus: { base: order, ask: (api, { partner }) => api.readOrder(partner, orderId, 't') },
  orderDetails: { base: order, ask: (api, { business }) => api.readOrder(business, orderId, 't') },
  receipt: { base: receipt, ask: (api, { business }) => api.readReceipt(business, orderId, 't') },
  create: { base: made, status: 201, ask: (api, { business }) => api.callOperation(business, create, 't') },
  effect: { base: order, ask: (api, { business }) => api.readEffect(business, cancel, 't') },
  refusedCall: { base: refusal, status: 422, ask: (api, { business }) => api.callOperation(business, cancel, 't') },
  refusedRead: { base: refusal, status: 400, ask: (api, { partner }) => api.readOrder(partner, orderId, 't') },
  newSubscriber: { base: subscriber, ask: (api, { business }) => api.createSubscriber(business, wanted, 't') },
  subscribers: { base: subscribers, ask: (api, { business }) => api.listSubscribers(business, 't') },
  token: { base: token, ask: (api, { business }) => api.requestToken(business, toScope('x')) },
  refusedToken: { base: noToken, status: 400, ask: (api, { business }) => api.requestToken(business, toScope('x')) },
};

const apiOver = (http?: Http) =>
  rideApi({ operations: { listSubscribers: { enabled: true } } }, { keepsPersonalData: true, ...(http && { http }) });

/** The fields that the code looks for in an answer, by asking it: a new one is in here by itself. */
const fieldsOf = ({ base, status = 200, ask }: Reader): Promise<string[][]> =>
  fieldsRead(base, (body) => {
    const send: Http['send'] = async () => ({ status, headers: {}, body });
    return ask(apiOver({ send, close: async () => {} }), accountsAt('https://rides.example'));
  });

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

function isHarmless(outcome: unknown): boolean {
  if (outcome instanceof FaretrailError) return shownText(outcome.message) === outcome.message;
  if (outcome instanceof Error) return false;
  const { status = '', rawStatus } = (outcome ?? {}) as { status?: string; rawStatus?: string };
  const isShowable = rawStatus === undefined || shownText(status) === status; // only of an order it is shown
  return isShowable && textsIn(outcome).every((text) => text.isWellFormed());
}

describe.each(Object.entries(readers))('an answer to %s', (_, reader) => {
  it('may hold anything in any field: it is harmless when it is read, or refused by name', async () => {
    const api = apiOver();
    let body: Buffer = Buffer.alloc(0);
    const url = await serve((_, response) => {
      response.writeHead(reader.status ?? 200, { 'Content-Type': 'application/json' }).end(body);
    });
    const fields = await fieldsOf(reader);
    expect(fields.length).toBeGreaterThan(0);
    for (const field of fields)
      for (const hostility of hostilities) {
        body = hostileJson(reader.base, field, hostileFields[hostility]);
        const outcome = await reader.ask(api, accountsAt(url)).catch((error: unknown) => error);
        expect(isHarmless(outcome), `/${field.join('/')} ${hostility}: ${String(outcome)}`).toBe(true);
      }
  });
});
