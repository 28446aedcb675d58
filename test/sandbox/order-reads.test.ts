import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeDriver } from '../../sandbox/order-bodies.js';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import { call, codeOf, newToken, quietOrder, readBusinessOrder, readPartnerOrder } from './calls.js';

let sandbox: Sandbox;
let partnerToken: string;
let businessToken: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  partnerToken = await newToken(sandbox, 'partner');
  businessToken = await newToken(sandbox, 'business');
  sandbox.addOrder(quietOrder('partner', 'p-1'));
  sandbox.addOrder(quietOrder('business', 'b-1'));
});
afterAll(() => sandbox.close());

const statusUrl = () => `${sandbox.url}/v1/private/orders/status/p-1`;
const detailsUrl = (query: string) => `${sandbox.url}/v1/orders/b-1${query}`;
const json = { 'content-type': 'application/json' };

describe('order status at the partner interface', () => {
  it('answers in the nested shape', async () => {
    expect(await readPartnerOrder(sandbox, 'p-1', partnerToken)).toMatchObject({
      status: 200,
      json: { order: { order_id: 'p-1', status: 'Routing' } },
    });
  });

  it('answers in the wrapped or the flat shape when the order says so', async () => {
    sandbox.addOrder({ ...quietOrder('partner', 'p-wrapped'), shape: 'wrapped' });
    sandbox.addOrder({ ...quietOrder('partner', 'p-flat'), shape: 'flat' });
    const wrapped = await readPartnerOrder(sandbox, 'p-wrapped', partnerToken);
    expect(wrapped.json).toEqual({ status: 'success', data: { order: { id: 'p-wrapped', status: 'Routing' } } });
    const flat = await readPartnerOrder(sandbox, 'p-flat', partnerToken);
    expect(flat.json).toEqual({ order_id: 'p-flat', status: 'Routing' });
  });

  it('lays the details of the order over its fields', async () => {
    sandbox.addOrder({ ...quietOrder('partner', 'p-odd'), details: { order_id: 12, note: 'x' } });
    const seen = await readPartnerOrder(sandbox, 'p-odd', partnerToken);
    expect(seen.json).toEqual({ order: { order_id: 12, status: 'Routing', note: 'x' } });
  });

  it('refuses the call without Content-Type: application/json', async () => {
    const authorization = `Bearer ${partnerToken}`;
    expect(await call('GET', statusUrl(), { authorization })).toMatchObject({ status: 400, json: { status: 'error' } });
    const asText = await call('GET', statusUrl(), { authorization, 'content-type': 'text/plain' });
    expect(asText.status).toBe(400);
  });

  it('decodes a percent-encoded order id', async () => {
    sandbox.addOrder(quietOrder('partner', 'p/1 ä?'));
    const seen = await readPartnerOrder(sandbox, 'p/1 ä?', partnerToken);
    expect(seen.json).toMatchObject({ order: { order_id: 'p/1 ä?' } });
  });

  it('finds an order id of 128 characters', async () => {
    const orderId = 'x'.repeat(128);
    sandbox.addOrder(quietOrder('partner', orderId));
    expect((await readPartnerOrder(sandbox, orderId, partnerToken)).status).toBe(200);
  });

  it('refuses a business token with 403', async () => {
    expect((await readPartnerOrder(sandbox, 'p-1', businessToken)).status).toBe(403);
  });

  it('knows no order of the business interface', async () => {
    const seen = await readPartnerOrder(sandbox, 'b-1', partnerToken);
    expect(seen.status).toBe(404);
    expect(codeOf(seen)).toBe('ORDER_NOT_FOUND');
  });
});

describe('order details at the business interface', () => {
  it('show times, supplier and driver as the order advances', async () => {
    sandbox.addOrder({ ...quietOrder('business', 'b-2'), scheduledAt: '2030-01-01T10:00:00Z' });
    const before = (await readBusinessOrder(sandbox, 'b-2', businessToken)).json;
    expect(before).toMatchObject({ id: 'b-2', status: 'Routing', scheduled_at: '2030-01-01T10:00:00Z' });
    expect(before).not.toHaveProperty('supplier');
    for (const status of ['Confirmed', 'Waiting', 'Driving']) sandbox.setStatus('business', 'b-2', status);
    const riding = (await readBusinessOrder(sandbox, 'b-2', businessToken)).json;
    expect(riding).toMatchObject({
      status: 'Driving',
      requested_at: expect.any(String),
      will_arrive_at_pickup: expect.any(String),
      pickedup_at: expect.any(String),
      supplier: { name: expect.any(String), code: expect.any(String), driver: fakeDriver },
      stops: [{ progress_status: 'Completed' }, { progress_status: 'Confirmed' }],
    });
    expect(riding).not.toHaveProperty('droppedoff_at');
  });

  it('show no time that has not come, and none of a script that was left', async () => {
    const script = ['Pending', 'Driving', 'Completed'].map((status, i) => ({ status, afterMs: i * 600 }));
    sandbox.addOrder({ interface: 'business', orderId: 'b-4', script });
    const pending = (await readBusinessOrder(sandbox, 'b-4', businessToken)).json;
    expect(pending).not.toHaveProperty('pickedup_at');
    sandbox.setStatus('business', 'b-4', 'CareReq');
    await wait(1_250);
    const later = (await readBusinessOrder(sandbox, 'b-4', businessToken)).json;
    expect(later).toMatchObject({ status: 'CareReq' });
    expect(later).not.toHaveProperty('droppedoff_at');
  });

  it('show no driver once the order is completed', async () => {
    sandbox.addOrder({ ...quietOrder('business', 'b-3'), script: [{ status: 'Completed', afterMs: 0 }] });
    const over = (await readBusinessOrder(sandbox, 'b-3', businessToken)).json;
    expect(over).toMatchObject({ droppedoff_at: expect.any(String), supplier: { code: expect.any(String) } });
    expect(over).not.toHaveProperty('supplier.driver');
  });

  it('need businessId: 400 without or with two, 403 for another company', async () => {
    const authorization = `Bearer ${businessToken}`;
    const { businessId } = sandboxCredentials.business;
    expect((await call('GET', detailsUrl(''), { authorization })).status).toBe(400);
    expect((await call('GET', detailsUrl('?businessId='), { authorization })).status).toBe(400);
    const twice = `?businessId=${businessId}&businessId=${businessId}`;
    expect((await call('GET', detailsUrl(twice), { authorization })).status).toBe(400);
    expect((await call('GET', detailsUrl('?businessId=other'), { authorization })).status).toBe(403);
  });

  it('refuse a partner token, an unscoped one and one of another scope with 403', async () => {
    const unscoped = await newToken(sandbox, 'business', { scope: null });
    const finance = await newToken(sandbox, 'business', { scope: 'finance' });
    for (const token of [partnerToken, unscoped, finance]) {
      expect((await readBusinessOrder(sandbox, 'b-1', token)).status).toBe(403);
    }
  });

  it('accept a token that has the scope among others', async () => {
    const token = await newToken(sandbox, 'business', { scope: 'finance order' });
    expect((await readBusinessOrder(sandbox, 'b-1', token)).status).toBe(200);
  });

  it('answer 404 in the envelope for an unknown order', async () => {
    const seen = await readBusinessOrder(sandbox, 'p-1', businessToken);
    expect(seen).toMatchObject({ status: 404, json: { status: 'error', request_id: expect.any(String) } });
  });
});

describe('the bearer token', () => {
  it.each([
    ['missing', {}],
    ['unknown', { authorization: 'Bearer abc.def.ghi' }],
    ['sent as Basic', { authorization: 'Basic abc' }],
  ])('is refused with 401 when %s', async (_case, headers) => {
    expect((await call('GET', statusUrl(), { ...json, ...headers })).status).toBe(401);
    expect((await call('GET', detailsUrl('?businessId=x'), { ...headers })).status).toBe(401);
  });

  it('is refused with 401 when the header does not say Bearer in front of it', async () => {
    expect((await call('GET', statusUrl(), { ...json, authorization: partnerToken })).status).toBe(401);
    expect((await call('GET', statusUrl(), { ...json, authorization: `bearer ${partnerToken}` })).status).toBe(401);
  });

  it('is refused with 401 once it is expired', async () => {
    const hasty = await startSandbox({ partner: { tokenLifetimeSeconds: 1 } });
    hasty.addOrder(quietOrder('partner', 'p-1'));
    const token = await newToken(hasty, 'partner');
    const inTime = await readPartnerOrder(hasty, 'p-1', token);
    await wait(1_050);
    const late = await readPartnerOrder(hasty, 'p-1', token);
    await hasty.close();
    expect(inTime.status).toBe(200);
    expect(late.status).toBe(401);
    expect(codeOf(late)).toBe('TOKEN_EXPIRED');
  });
});

describe('any other path', () => {
  it.each([
    ['GET', '/'],
    ['POST', '/v1/oauth/token/'],
    ['POST', '/v2/oauth/token'],
    ['GET', '/v1/private/orders/p-1'],
    ['POST', '/v1/private/orders/status/p-1'],
    ['DELETE', '/v1/orders/b-1'],
    ['HEAD', '/v1/orders/b-1'],
  ])('%s %s is answered with 404', async (method, path) => {
    const seen = await call(method, sandbox.url + path);
    expect(seen.status).toBe(404);
    if (method !== 'HEAD') expect(codeOf(seen)).toBe('NOT_FOUND');
  });

  it('that is not well encoded is refused in the envelope', async () => {
    const seen = await call('GET', `${sandbox.url}/v1/orders/%zz`);
    expect(seen).toMatchObject({ status: 400, json: { status: 'error' } });
    expect(sandbox.ledger().at(-1)).toMatchObject({ operation: 'unknown', httpStatus: 400 });
  });
});
