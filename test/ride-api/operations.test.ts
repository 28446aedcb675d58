import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import type { Account } from '../../src/domain/account.js';
import { type BusinessOperation, businessOperations, type ServiceCall } from '../../src/domain/call.js';
import { type OrderId, orderIdIn, toOrderId } from '../../src/domain/keys.js';
import type { ApiRequest } from '../../src/ride-api/http.js';
import { operationRequest } from '../../src/ride-api/operation-request.js';
import type { RideApi, RideApiOptions } from '../../src/ride-api/ride-api.js';
import bodies from '../fixtures/error-bodies.assumed.json' with { type: 'json' };
import assumed from '../fixtures/order-replies.assumed.json' with { type: 'json' };
import given from '../fixtures/subscriber-reply.given.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';
import { answer, businessAccount, failure, partnerAccount } from './accounts.js';
import { rideApi } from './loopback-server.js';

const orderId = toOrderId('4711');
const about = { orderId: toOrderId('a b') };
const account = businessAccount();
const deliveryAddress = 'https://rides.example/webhooks/business/status_changed/abc.very-secret-mac-of-a-path';
const newSubscriber = { deliveryAddress, eventType: 'status_changed' } as const;
const managing = { operations: { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } } };

type Ask = (api: RideApi) => Promise<unknown>;
const readOrder: Ask = (api) => api.readOrder(account, orderId, 't0ken');
const readReceipt: Ask = (api) => api.readReceipt(account, orderId, 't0ken');
const subscribe: Ask = (api) => api.createSubscriber(account, newSubscriber, 't0ken');
const list: Ask = (api) => api.listSubscribers(account, 't0ken');
const remove: Ask = (api) => api.deleteSubscriber(account, 'a/b', 't0ken');
const callOf = (operation: BusinessOperation, more: Partial<ServiceCall> = {}): ServiceCall => ({
  ...{ account: account.name, operation, requestId: 'call/business/x/1' },
  ...more,
});
const call =
  (operation: BusinessOperation, more: Partial<ServiceCall> = {}): Ask =>
  (api) =>
    api.callOperation(account, callOf(operation, more), 't0ken');

/** Asks a service that gives this answer; `requests` are what it got. */
function asked(ask: Ask, reply = answer(200), overrides: object = {}, options: Partial<RideApiOptions> = {}) {
  const requests: ApiRequest[] = [];
  const send = async (request: ApiRequest) => {
    requests.push(request);
    return reply;
  };
  const outcome = ask(rideApi(overrides, { http: { send, close: async () => {} }, now: () => 0, ...options }));
  outcome.catch(() => undefined);
  return { outcome, requests };
}

const [partner, business] = ['https://partner.example', 'https://business.example'];
const company = 'businessId=11111111-2222-4333-8444-555555555555';
const period = { since: '2026-03-01T00:00:00+03:00', to: '2026-04-01T00:00:00Z', limit: 50, offset: 100 };
const addCode = call('addReferenceCode', { referenceFieldId: '7', body: [] });
const asText = { hook_address: deliveryAddress, event_types: 'status_changed' };
const asPartner: Ask = (api) => api.readOrder(partnerAccount(), orderId, 't0ken');

describe('the request', () => {
  it('of a subscriber has the further fields of the profile, and our own win', async () => {
    const body = { retries: 5, filters: { env: 'prod' }, hook_address: 'https://other.example' };
    const { outcome, requests } = asked(subscribe, answer(500), { subscription: { body } });
    await expect(outcome).rejects.toThrow(failure('RideApiError', 'UPSTREAM_FAILED'));
    expect(JSON.parse(String(requests[0]?.body))).toEqual({ ...body, ...asText });
  });

  it.each<[string, Ask, string, object?]>([
    ['orderStatus', asPartner, `GET ${partner}/v1/private/orders/status/4711`],
    ['an order of a business account', readOrder, `GET ${business}/v1/orders/4711?${company}`],
    ['a receipt', readReceipt, `GET ${business}/v1/orders/4711/receipt?${company}`],
    ['companySettings', call('companySettings'), `GET ${business}/v1/companies/settings?${company}`],
    ['products', call('products', { body: {} }), `POST ${business}/v1/products?${company}`, {}],
    ['priceEstimate', call('priceEstimate', { body: {} }), `POST ${business}/v1/price-estimate?${company}`, {}],
    ['createOrder', call('createOrder', { body: { a: 1 } }), `POST ${business}/v1/orders?${company}`, { a: 1 }],
    ['orderDetails', call('orderDetails', about), `GET ${business}/v1/orders/a%20b?${company}`],
    ['updateOrder', call('updateOrder', { ...about, body: {} }), `PATCH ${business}/v1/orders/a%20b?${company}`, {}],
    ['cancelOrder', call('cancelOrder', about), `POST ${business}/v1/orders/a%20b/cancel?${company}`],
    ['addReferenceCode', addCode, `POST ${business}/v1/reference-fields/7/codes?${company}`, []],
    ['orderReceipt', call('orderReceipt', about), `GET ${business}/v1/orders/a%20b/receipt?${company}`],
    [
      ...(['orderReport', call('orderReport', { body: period })] as const),
      `GET ${business}/v1/reports?${company}&limit=50&offset=100&since=2026-03-01T00%3A00%3A00%2B03%3A00&to=2026-04-01T00%3A00%3A00Z`,
    ],
    ['a subscriber, with one event type as text', subscribe, `POST ${business}/v1/subscribers?${company}`, asText],
    ['listSubscribers', list, `GET ${business}/v1/subscribers?${company}`],
    ['deleteSubscriber', remove, `DELETE ${business}/v1/subscribers/a%2Fb?${company}`],
  ])('of %s is as the service states it, or as we assume', async (name, ask, line, body) => {
    const { outcome, requests } = asked(ask, answer(500), managing);
    await expect(outcome).rejects.toThrow(failure('RideApiError', 'UPSTREAM_FAILED'));
    expect(requests.map((one) => `${one.method} ${one.url}`)).toEqual([line]);
    expect(requests[0]?.headers).toEqual({
      ...(name === 'createOrder' ? { 'X-Request-ID': 'call/business/x/1' } : {}),
      ...{ Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
    expect(requests[0]?.body).toBe(body && JSON.stringify(body));
  });

  it('carries its request id in the header that the profile names, or in none', async () => {
    const idOf = (operation: BusinessOperation, requestIdHeader: string) => {
      const overrides = { operations: { [operation]: { requestIdHeader } } };
      return asked(call(operation, { ...about, body: {} }), answer(500), overrides).requests[0]?.headers;
    };
    expect(idOf('updateOrder', 'Idempotency-Key')).toMatchObject({ 'Idempotency-Key': 'call/business/x/1' });
    expect(Object.values(idOf('createOrder', '') ?? {})).not.toContain('call/business/x/1');
  });

  it('keeps any order id within one part of the path, where the other end reads the same id', () => {
    const urlOf = (at: Account, id: string) => {
      const read = { operation: 'orderStatus', values: { order_id: id }, accessToken: 't' } as const;
      return operationRequest(at, read, profile).url;
    };
    const path = (id: string) => urlOf(partnerAccount(), id);
    forAny(
      fc.string({ unit: 'binary' }).filter((text): text is OrderId => orderIdIn(text) === text),
      (id) => {
        const parts = new URL(path(id)).pathname.split('/').map(decodeURIComponent);
        expect(parts).toEqual(['', 'v1', 'private', 'orders', 'status', id]);
      },
    );
    expect(urlOf(partnerAccount('https://gateway.example/rides'), '1')).toMatch(/^https:..gateway.example.rides.v1/);
    expect(path('a?b#c %2F{id}$&')).toMatch(/\/status\/a%3Fb%23c%20%252F%7Bid%7D%24%26$/);
  });

  const { businessId: _, ...withoutCompany } = account;
  it.each<[string, Ask, object?]>([
    ['order_id: must not be', (api) => api.readOrder(account, '..' as OrderId, 't')],
    ['order_id: must not be', (api) => api.readOrder(account, '.' as OrderId, 't')],
    ['business_id: needed', (api) => api.readOrder(withoutCompany, orderId, 't')],
    ['not an operation of the partner', (api) => api.readReceipt(partnerAccount(), orderId, 't')],
    ['not an operation of the partner', (api) => api.createSubscriber(partnerAccount(), newSubscriber, 't')],
    ['operations.orderDetails.enabled', readOrder, { operations: { orderDetails: { enabled: false } } }],
    ['not an operation of the business', readOrder, { operations: { orderDetails: { interface: 'partner' } } }],
    ['operations.listSubscribers.enabled', list],
    ['operations.deleteSubscriber.enabled', remove],
  ])('is not made, and the reason is "%s" (%#)', async (reason, ask, overrides) => {
    const { outcome, requests } = asked(ask, answer(200), overrides);
    await expect(outcome).rejects.toThrow(failure('InvalidInput', 'InvalidInput'));
    await expect(outcome).rejects.toThrow(reason);
    expect(requests).toEqual([]);
  });

  it('needs the scope that the profile names, and an account of its interface', () => {
    const api = rideApi({ operations: { orderDetails: { scope: 'order finance' } } });
    expect(api.scopeOf(partnerAccount(), 'orderStatus')).toBe('demand_partner');
    const scopes = (['orderReceipt', 'orderDetails', 'createSubscriber'] as const).map((one) =>
      api.scopeOf(account, one),
    );
    expect(scopes).toEqual(['finance', 'finance order', '']);
    for (const operation of businessOperations)
      expect(() => api.scopeOf(partnerAccount(), operation)).toThrow('not an operation of the partner interface');
  });
});

describe('a refusal', () => {
  const codes = [
    '400 BAD_REQUEST, 401 TOKEN_REJECTED, 402 PAYMENT_REQUIRED, 403 RATE_LIMITED, 404 ORDER_UNKNOWN, 408 REFUSED',
    '409 REFUSED, 422 UNPROCESSABLE, 202 UNEXPECTED_STATUS, 301 REDIRECTED, 307 REDIRECTED, 429 RATE_LIMITED',
    '500 UPSTREAM_FAILED, 504 UPSTREAM_FAILED',
  ];
  it.each(codes.join(', ').split(', '))('has the status and the code %s, and a wait where it passes', async (given) => {
    const [status = 0, code = ''] = given.split(' ').map((word) => Number(word) || word);
    const retryAfterMs = status === 403 || Number(status) >= 429 ? 3_000 : undefined;
    const error = failure('RideApiError', String(code), {
      status,
      retryable: retryAfterMs !== undefined,
      retryAfterMs,
    });
    const reply = answer(Number(status), { status: 'Driving' }, { 'retry-after': '3' });
    for (const ask of [readOrder, readReceipt, call('orderDetails', about)])
      await expect(asked(ask, reply).outcome).rejects.toThrow(error);
  });

  it.each<[unknown, string]>([
    [bodies.envelope, 'HTTP 409, VALIDATION_ERROR, about phone, request 0b9d2c3e-0000-4000-8000-000000000001'],
    [bodies.rfc6749, 'HTTP 409, invalid_client, request req-1'],
    [{ request_id: 'to +1 555 0100' }, 'HTTP 409, request req-1'],
    ...[undefined, null, '<html>', [], { error: 7 }, { error: 'a sentence about +15550100' }, { error: null }].map(
      (body): [unknown, string] => [body, 'HTTP 409, request req-1'],
    ),
    ...['x'.repeat(65), '', 7].map((code): [unknown, string] => [{ error: { code } }, 'HTTP 409, request req-1']),
  ])('names only short words of the service: %j', async (body, words) => {
    const { outcome } = asked(readOrder, answer(409, body, { 'x-request-id': 'req-1' }));
    await expect(outcome).rejects.toThrow(`upstream refused: REFUSED (${words})`);
  });

  it.each([readOrder, readReceipt, call('products', { body: {} })])(
    'is an error envelope in spite of its 200 (%#)',
    async (ask) => {
      const error = failure('RideApiError', 'ERROR_IN_SUCCESS', { upstreamCode: 'VALIDATION_ERROR' });
      await expect(asked(ask, answer(200, bodies.envelope)).outcome).rejects.toThrow(error);
    },
  );

  it('is no envelope without both of its marks', async () => {
    for (const body of [{ status: 'error' }, { status: 'success', error: {} }, null])
      expect(await asked(call('products', { body: {} }), answer(200, body)).outcome).toMatchObject({ status: 200 });
  });

  it.each<[unknown, string | null]>([
    ['A rule\n of\u0007 ours.', 'A rule of ours.'],
    ['x'.repeat(300), 'x'.repeat(200)],
    ['Call 1555-000-1111', null],
    ['You are very secret & odd+value', null],
    [5, null],
    ['  ', null],
  ])('keeps the words of the service for the caller, where they are safe: %j', async (said, upstreamMessage) => {
    const body = { stops: [{ actions: [{ user: { phone: '15550001111' } }] }] };
    const reply = answer(422, { status: 'error', error: { code: 'RULE', message: said } });
    const { outcome } = asked(call('createOrder', { body }), reply, {}, { keepsPersonalData: true });
    const message = 'upstream refused: UNPROCESSABLE (HTTP 422, RULE)';
    await expect(outcome).rejects.toThrow(failure('RideApiError', 'UNPROCESSABLE', { upstreamMessage, message }));
  });

  it('of a subscription never holds the address, its secret part or the token', async () => {
    const mac = deliveryAddress.split('.').at(-1);
    const ofAnother = `abd.${'aB3_-'.repeat(9).slice(0, 43)}`;
    const last = deliveryAddress.split('/').at(-1);
    for (const echo of [deliveryAddress, last, mac, ofAnother, 't0ken', account.clientSecret]) {
      const body = { error: echo?.slice(0, 64), request_id: echo?.slice(0, 64) };
      const message = 'upstream refused: UNPROCESSABLE (HTTP 422)';
      const error = failure('RideApiError', 'UNPROCESSABLE', { upstreamCode: null, message });
      await expect(asked(subscribe, answer(422, body)).outcome).rejects.toThrow(error);
    }
  });
});

describe('the answer to a read', () => {
  it('is the reading of an order at both interfaces', async () => {
    const driving = { status: 'Driving', terminal: false };
    expect(await asked(readOrder, answer(200, assumed.details)).outcome).toMatchObject(driving);
    const completed = answer(200, { order_status: 'Completed' });
    expect(await asked(asPartner, completed).outcome).toMatchObject({ terminal: true });
  });

  it('is a receipt with amounts as numbers or text, and other fields where personal data is kept', async () => {
    const receipt = { payment_summary: { total_inc_tax: '22.00', total_tax: 2 }, calculation: {} };
    const reply = answer(200, { ...receipt, unknown: [1] });
    expect(await asked(readReceipt, reply).outcome).toEqual(receipt);
    const kept = asked(readReceipt, reply, {}, { keepsPersonalData: true }).outcome;
    expect(await kept).toEqual({ ...receipt, unknown: [1] });
  });

  it.each([undefined, null, [], 'paid', 7, { filler: 'x'.repeat(70_000) }])('is no receipt: %#', async (body) => {
    await expect(asked(readReceipt, answer(200, body)).outcome).rejects.toThrow(failure('RideApiGarbled', 'NOT_JSON'));
  });
});

it('the answer to a call holds what the service said, and the order that a create made, with any success', async () => {
  const create = call('createOrder', { body: {} });
  for (const status of [200, 201, 202]) {
    const { outcome } = asked(create, answer(status, { id: 7 }));
    expect(await outcome).toEqual({ operation: 'createOrder', status, body: { id: 7 }, orderId: '7' });
  }
  const located = asked(create, answer(201, undefined, { location: `${business}/v1/orders/7` })).outcome;
  expect(await located).toEqual({ operation: 'createOrder', status: 201, body: null, orderId: '7' });
  const unnamed = asked(create, answer(201, {})).outcome;
  await expect(unnamed).rejects.toThrow(failure('UnusableReply', 'NO_ORDER_ID'));
  await expect(unnamed).rejects.toThrow('pointers.createOrder.orderId');
  const { outcome } = asked(call('updateOrder', { ...about, body: {} }), answer(204));
  expect(await outcome).toEqual({ operation: 'updateOrder', status: 204, body: null });
});

describe('the answer about subscribers', () => {
  it.each([200, 201, 202])('is a subscriber with any success code: %i', async (status) => {
    expect(await asked(subscribe, answer(status, given)).outcome).toMatchObject({ id: 'sub-1' });
  });

  it.each<[Ask, number, unknown, unknown]>([
    [subscribe, 201, {}, failure('RideApiError', 'UNEXPECTED_STATUS')],
    [list, 200, {}, failure('RideApiGarbled', 'NOT_JSON')],
    [list, 500, undefined, failure('RideApiError', 'UPSTREAM_FAILED')],
    [remove, 403, undefined, failure('RideApiError', 'FORBIDDEN')],
  ])('is an error where it holds none (%#)', async (ask, status, body, error) => {
    await expect(asked(ask, answer(status, body), managing).outcome).rejects.toThrow(error);
  });

  it('is a list, and counts a subscriber that is gone as deleted', async () => {
    expect(await asked(list, answer(200, { subscribers: [given] }), managing).outcome).toHaveLength(1);
    for (const status of [200, 204, 404]) expect(await asked(remove, answer(status), managing).outcome).toBeUndefined();
  });
});
