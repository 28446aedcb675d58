import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeDriver } from '../../sandbox/order-bodies.js';
import { sampleOrders, toSandboxOrder } from '../../sandbox/sample-orders.js';
import { type Sandbox, sandboxCredentials } from '../../sandbox/sandbox.js';
import {
  askToken,
  call,
  codeOf,
  formType,
  newToken,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
  sandboxOfOneTest,
  tokenForm,
  tokenPaths,
} from './calls.js';

const { businessId } = sandboxCredentials.business;
const company = `?businessId=${businessId}`;
const speed = 1_000;

let sandbox: Sandbox;
let partnerToken: string;
let businessToken: string;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest({ speed });
  partnerToken = await newToken(sandbox, 'partner');
  businessToken = await newToken(sandbox, 'business', { scope: 'order finance' });
});

const details = async (orderId: string) => (await readBusinessOrder(sandbox, orderId, businessToken)).json;
const statusOf = async (orderId: string) =>
  ((await readPartnerOrder(sandbox, orderId, partnerToken)).json as { order: { status: string } }).order.status;

describe('an order', () => {
  it('takes its statuses in time, faster by the factor speed', async () => {
    const addedAt = Date.now();
    const script = ['Pending', 'Routing'].map((status, i) => ({ status, afterMs: i * 1_000_000 }));
    sandbox.addOrder({ interface: 'partner', orderId: 'timed', script });
    expect(await statusOf('timed')).toBe('Pending');
    await expect.poll(() => statusOf('timed'), { interval: 10 }).toBe('Routing');
    expect(Date.now() - addedAt).toBeGreaterThanOrEqual(999);
  });

  it('is refused when its id was added before, or its script runs backwards', () => {
    expect(() => sandbox.addOrder(quietOrder('partner', 'p-1'))).toThrow(/orderId/);
    const script = [0, 2, 1].map((afterMs) => ({ status: 'Pending', afterMs }));
    expect(() => sandbox.addOrder({ interface: 'partner', orderId: 'x', script })).toThrow(/must not decrease/);
    expect(() => sandbox.addOrder({ interface: 'partner', orderId: 'x', script: script.slice(1) })).toThrow(
      /afterMs 0/,
    );
  });

  it('of each kind of the samples can be added and ends in a terminal status', () => {
    for (const [name, sample] of Object.entries(sampleOrders)) {
      sandbox.addOrder(toSandboxOrder(sample, name, speed));
      expect(['Completed', 'Cancelled', 'Rejected']).toContain(sample.script.at(-1)?.status);
    }
  });
});

describe('an order that is read', () => {
  it.each([
    ['nested', { order: { order_id: 'p-nested', status: 'Routing' } }],
    ['wrapped', { status: 'success', data: { order: { id: 'p-wrapped', status: 'Routing' } } }],
    ['flat', { order_id: 'p-flat', status: 'Routing' }],
  ] as const)('at the partner interface can be %s', async (shape, body) => {
    sandbox.addOrder({ ...quietOrder('partner', `p-${shape}`), shape });
    expect(await readPartnerOrder(sandbox, `p-${shape}`, partnerToken)).toMatchObject({ status: 200, json: body });
  });

  it('at the business interface shows times, supplier and driver as it advances, and no driver at its end', async () => {
    sandbox.addOrder({ ...quietOrder('business', 'b-2'), scheduledAt: '2030-01-01T10:00:00Z' });
    const before = await details('b-2');
    expect(before).toMatchObject({ id: 'b-2', status: 'Routing', scheduled_at: '2030-01-01T10:00:00Z' });
    expect(before).not.toHaveProperty('supplier');
    for (const status of ['Confirmed', 'Waiting', 'Driving']) sandbox.setStatus('business', 'b-2', status);
    const riding = await details('b-2');
    expect(riding).toMatchObject({
      ...{ status: 'Driving', will_arrive_at_pickup: expect.any(String), pickedup_at: expect.any(String) },
      supplier: { name: expect.any(String), code: expect.any(String), driver: fakeDriver },
      stops: [{ progress_status: 'Completed' }, { progress_status: 'Confirmed' }],
    });
    expect(riding).not.toHaveProperty('droppedoff_at');
    sandbox.setStatus('business', 'b-2', 'Completed');
    const over = await details('b-2');
    expect(over).toMatchObject({ droppedoff_at: expect.any(String), supplier: { code: expect.any(String) } });
    expect(over).not.toHaveProperty('supplier.driver');
  });

  it('at the partner interface needs its scope and its content type', async () => {
    expect((await readPartnerOrder(sandbox, 'p-1', businessToken)).status).toBe(403);
    const partner = { authorization: `Bearer ${partnerToken}` };
    for (const headers of [partner, { ...partner, 'content-type': 'text/plain' }])
      expect((await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, headers)).status).toBe(400);
  });

  it.each([
    ['missing', {}],
    ['unknown', { authorization: 'Bearer abc.def.ghi' }],
    ['sent as Basic', { authorization: 'Basic abc' }],
  ])('is refused with 401 when its token is %s', async (_case, headers) => {
    const seen = await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, {
      'content-type': 'application/json',
      ...headers,
    });
    expect(seen.status).toBe(401);
  });

  it('is refused with 401 once its token has expired', async () => {
    sandbox.setTokenLifetime('partner', 1);
    const token = await newToken(sandbox, 'partner');
    expect((await askToken(sandbox, 'business')).json).toMatchObject({ expires_in: 899 });
    expect((await readPartnerOrder(sandbox, 'p-1', token)).status).toBe(200);
    await wait(1_050);
    const late = await readPartnerOrder(sandbox, 'p-1', token);
    expect([late.status, codeOf(late)]).toEqual([401, 'TOKEN_EXPIRED']);
  });

  it.each([
    ['GET', '/'],
    ['POST', '/v2/oauth/token'],
    ['GET', '/v1/private/orders/p-1'],
    ['POST', '/v1/private/orders/status/p-1'],
    ['DELETE', '/v1/orders/b-1'],
  ])('is not found at another path: %s %s', async (method, path) => {
    const seen = await call(method, sandbox.url + path);
    expect([seen.status, codeOf(seen)]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('the receipt of an order', () => {
  const receiptOf = (orderId: string) =>
    call('GET', `${sandbox.url}/v1/orders/${orderId}/receipt${company}`, { authorization: `Bearer ${businessToken}` });

  it.each([
    ['Completed', { driving: 18.5 }, '22.00', '24.20'],
    ['Cancelled', { cancellation: 5 }, '5.50', '4.40'],
  ])(
    'is there once it is %s and not before, and may be calculated again later',
    async (status, calculation, first, second) => {
      const before = await Promise.all(['b-1', 'none'].map(receiptOf));
      expect(before.map((seen) => seen.status)).toEqual([404, 404]);
      sandbox.setBookingSettings({ receiptChangesAfterMs: 1_000_000 }); // a second at this speed
      sandbox.setStatus('business', 'b-1', status);
      const total = async () =>
        ((await receiptOf('b-1')).json as { payment_summary: { total_inc_tax: string } }).payment_summary.total_inc_tax;
      expect(await total()).toBe(first);
      expect((await receiptOf('b-1')).json).toMatchObject({ payment_summary: { currency_code: 'EUR' }, calculation });
      await expect.poll(total).toBe(second);
    },
  );
});

type At = 'partner' | 'business';
const refusal = (error: string, status = 400) => ({ status, json: { error } });
const post = (at: At, contentType: string | undefined, body: string, url = sandbox.url) =>
  call('POST', url + tokenPaths[at], contentType ? { 'content-type': contentType } : {}, body);
const asJson = (form: URLSearchParams) => JSON.stringify(Object.fromEntries(form));
const multipartType = 'multipart/form-data; boundary=cut';
const asMultipart = (form: URLSearchParams) =>
  `${[...form].map(([name, value]) => `--cut\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--cut--\r\n`;

describe('a token endpoint', () => {
  it.each<[At, string, object]>([
    ['partner', 'demand_partner', { token_type: 'Bearer', expires_in: 3600 }],
    ['business', 'finance order', { token_type: 'bearer', expires_in: 899 }],
  ])('of the %s interface grants the scope %s', async (at, scope, json) => {
    const access_token = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const granted = { access_token, scope, ...json };
    expect(await askToken(sandbox, at, { scope })).toMatchObject({ status: 200, json: granted });
  });

  it.each<[At, string | null]>([
    ['partner', 'order'],
    ['partner', ''],
    ['partner', null],
    ['business', 'demand_partner'],
    ['business', ''],
    ['business', 'order,finance'],
    ['business', 'order  finance'],
  ])('of the %s interface refuses the scope %j', async (at, scope) => {
    expect(await askToken(sandbox, at, { scope })).toMatchObject(refusal('invalid_scope'));
  });

  it('of the partner interface takes a form alone', async () => {
    const form = tokenForm('partner');
    const refused = refusal('invalid_request');
    expect(await post('partner', 'application/json', asJson(form))).toMatchObject(refused);
    expect(await post('partner', multipartType, asMultipart(form))).toMatchObject(refused);
    expect(await post('partner', undefined, form.toString())).toMatchObject(refused);
  });

  it('of the business interface takes a multipart form too, and JSON when an option allows it', async () => {
    const form = tokenForm('business');
    expect((await post('business', multipartType, asMultipart(form))).status).toBe(200);
    expect(await post('business', 'application/json', asJson(form))).toMatchObject(refusal('invalid_request'));
    const tolerant = await sandboxOfOneTest({ business: { acceptJsonTokenRequests: true } });
    expect(await post('business', 'application/json', asJson(form), tolerant.url)).toMatchObject({
      status: 200,
      json: { scope: 'order' },
    });
  });

  it.each(['partner', 'business'] as const)('of the %s interface refuses wrong credentials and grants', async (at) => {
    const other = sandboxCredentials[at === 'partner' ? 'business' : 'partner'];
    for (const change of [
      { client_secret: 'wrong' },
      { client_secret: null },
      { client_id: null },
      { client_id: other.clientId, client_secret: other.clientSecret },
    ])
      expect(await askToken(sandbox, at, change)).toMatchObject(refusal('invalid_client', 401));
    for (const grant_type of ['password', 'CLIENT_CREDENTIALS', null])
      expect(await askToken(sandbox, at, { grant_type })).toMatchObject(refusal('invalid_grant'));
    const twice = `${tokenForm(at)}&grant_type=client_credentials`;
    expect(await post(at, formType, twice)).toMatchObject(refusal('invalid_request'));
  });
});

describe('a fault of a token endpoint', () => {
  it('can leave fields of the answer out and say others', async () => {
    const said = { token_type: 'mac', expires_in: '899' };
    sandbox.setFault({ kind: 'tokenAnswer', without: ['access_token', 'scope'], with: said });
    expect(await askToken(sandbox, 'business')).toMatchObject({ status: 200, text: JSON.stringify(said) });
  });

  it.each([
    ['invalidClient', 401, 'invalid_client'],
    ['invalidScope', 400, 'invalid_scope'],
    ['invalidGrant', 400, 'invalid_grant'],
  ] as const)('%s answers %d %s in either shape, and issues nothing', async (kind, status, error) => {
    sandbox.setFault({ kind, times: 1 });
    expect(await askToken(sandbox, 'partner')).toMatchObject(refusal(error, status));
    sandbox.setFault({ kind, shape: 'envelope' });
    const json = { status: 'error', error: { code: error } };
    expect(await askToken(sandbox, 'partner')).toMatchObject({ status, json });
    expect(sandbox.issuedTokens()).toHaveLength(2);
  });
});

describe('tokens', () => {
  it('stay valid while credentials change, of which only the new ones get more, and end when they are revoked', async () => {
    const reads = async (token: string) => [
      (await readPartnerOrder(sandbox, 'p-1', token)).status,
      (await readBusinessOrder(sandbox, 'b-1', businessToken)).status,
    ];
    sandbox.setCredentials('partner', { ...sandboxCredentials.partner, clientSecret: 'rotated' });
    expect(await askToken(sandbox, 'partner')).toMatchObject(refusal('invalid_client', 401));
    expect(await reads(partnerToken)).toEqual([200, 200]);
    expect(sandbox.revokeTokens()).toBe(2);
    expect(await reads(partnerToken)).toEqual([401, 401]);
    expect(await reads(await newToken(sandbox, 'partner', { client_secret: 'rotated' }))).toEqual([200, 401]);
  });
});
