import { describe, expect, it } from 'vitest';
import {
  parseContractProfile,
  defaultContractProfile as profile,
} from '../../src/contracts/default-contract-profile.js';
import { type BusinessOperation, businessOperations, type ServiceCall } from '../../src/domain/call.js';
import { toOrderId } from '../../src/domain/keys.js';
import { callRequest, interpretCallReply, knowsRepeats } from '../../src/ride-api/call.js';
import { operationScope } from '../../src/ride-api/operation-request.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import { answer, businessAccount, errorOf, partnerAccount } from './accounts.js';
import { answerJson, serve, textOf } from './loopback-server.js';

const account = businessAccount();
const accessToken = 'a token';
const callOf = (operation: BusinessOperation, more: Partial<ServiceCall> = {}): ServiceCall => ({
  account: account.name,
  operation,
  requestId: 'call/business/x/1',
  ...more,
});
const query = `?businessId=${account.businessId}`;
const about = { orderId: toOrderId('a b') };

describe('the request (methods and paths assumed)', () => {
  it.each<[BusinessOperation, Partial<ServiceCall>, string]>([
    ['companySettings', {}, `GET /v1/companies/settings${query}`],
    ['products', { body: {} }, `POST /v1/products${query}`],
    ['createOrder', { body: {} }, `POST /v1/orders${query}`],
    ['orderDetails', about, `GET /v1/orders/a%20b${query}`],
    ['updateOrder', { ...about, body: {} }, `PATCH /v1/orders/a%20b${query}`],
    ['cancelOrder', about, `POST /v1/orders/a%20b/cancel${query}`],
    ['addReferenceCode', { referenceFieldId: '7', body: [] }, `POST /v1/reference-fields/7/codes${query}`],
    ['orderReceipt', about, `GET /v1/orders/a%20b/receipt${query}`],
  ])('of %s', (operation, more, line) => {
    const { method, url, headers, body } = callRequest(account, callOf(operation, more), accessToken, profile);
    expect(`${method} ${url.replace(account.baseUrl, '')}`).toBe(line);
    expect(headers).toMatchObject({ Authorization: 'Bearer a token', Accept: 'application/json' });
    expect('X-Request-ID' in headers).toBe(operation === 'createOrder');
    expect(body).toBe(more.body === undefined ? undefined : JSON.stringify(more.body));
  });

  it('carries its request id in the header that the profile names, or in none', () => {
    const named = parseContractProfile({ operations: { updateOrder: { requestIdHeader: 'Idempotency-Key' } } });
    const update = callRequest(account, callOf('updateOrder', { ...about, body: {} }), accessToken, named);
    expect(update.headers).toMatchObject({ 'Idempotency-Key': 'call/business/x/1' });
    const without = parseContractProfile({ operations: { createOrder: { requestIdHeader: '' } } });
    const { headers } = callRequest(account, callOf('createOrder', { body: {} }), accessToken, without);
    expect(Object.values(headers)).not.toContain('call/business/x/1');
    const verified = parseContractProfile({ operations: { createOrder: { repeatable: true } } });
    expect([profile, verified].map((one) => knowsRepeats('createOrder', one))).toEqual([false, true]);
  });

  it.each(businessOperations)('of %s needs a business account', (operation) => {
    expect(() => operationScope(partnerAccount(), operation, profile)).toThrow(
      'not an operation of the partner interface',
    );
  });
});

it('a call goes out over HTTP, and an answer without a body is one', async () => {
  const seen: string[] = [];
  const url = await serve(async (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['x-request-id']} ${await textOf(request)}`);
    if (request.method === 'PATCH') response.writeHead(204).end();
    else answerJson(response, 201, { id: 7 });
  });
  const api = createRideApi({ profile });
  const at = businessAccount(url);
  const created = await api.callOperation(at, callOf('createOrder', { body: { a: 1 } }), 't');
  expect(created).toEqual({ operation: 'createOrder', status: 201, body: { id: 7 }, orderId: '7' });
  const updated = await api.callOperation(at, callOf('updateOrder', { ...about, body: { b: 2 } }), 't');
  expect(updated).toEqual({ operation: 'updateOrder', status: 204, body: null });
  expect(seen).toEqual([
    `POST /v1/orders${query} call/business/x/1 {"a":1}`,
    `PATCH /v1/orders/a%20b${query} undefined {"b":2}`,
  ]);
  await api.close();
});

describe('the error of a refused call', () => {
  const body = { stops: [{ actions: [{ user: { phone: '15550001111' } }] }] };
  const refusedWith = (message: unknown) => {
    const reply = answer(422, { status: 'error', error: { code: 'RULE', message } });
    const context = {
      account,
      call: callOf('createOrder', { body }),
      accessToken,
      profile,
      now: 0,
      maxWaitMs: 600_000,
      keepsPersonalData: true,
    };
    return errorOf(() => interpretCallReply(reply, context));
  };

  it.each<[unknown, string | null]>([
    ['A rule\n of\u0007 ours.', 'A rule of ours.'],
    ['x'.repeat(300), 'x'.repeat(200)],
    ['Call 1555-000-1111', null],
    ['You are very secret & odd+value', null],
    [5, null],
    ['  ', null],
  ])('keeps the words of the service for the caller, where they are safe: %j', (said, kept) => {
    const error = refusedWith(said);
    expect(error.upstreamMessage).toBe(kept);
    expect(error.message).toBe('upstream refused: UNPROCESSABLE (HTTP 422, RULE)');
  });
});
