import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryRequestInput } from '../../../dev/sandbox/delivery/requests.js';
import { signatureOf } from '../../../dev/sandbox/delivery/signature.js';
import { sandboxProducts } from '../../../dev/sandbox/ride/catalogue.js';
import { receiptBody } from '../../../dev/sandbox/ride/receipt-bodies.js';
import { defaultRideSettings } from '../../../dev/sandbox/ride/settings.js';
import { type Sandbox, sandboxCredentials, sandboxReferenceFields } from '../../../dev/sandbox/sandbox.js';
import { published, publishedBytes } from '../../fixtures/published.js';
import { newRide, stop } from './booking-calls.js';
import {
  askToken,
  call,
  newToken,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
  sandboxOfOneTest,
} from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const { businessId } = sandboxCredentials.business;
let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest();
});

/** The form of a text: what tells an id from an instant. */
function formOf(text: string): string {
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)) return 'uuid';
  const [, fraction, zone] = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  if (zone !== undefined)
    return `instant with ${(fraction ?? '.').length - 1} digits, ${zone === 'Z' ? 'Z' : 'offset'}`;
  return /^\d+$/.test(text) ? 'digits' : 'text';
}

/** Members, types and formats of a body. Of a list its first entry. `message` is looked into. */
function shapeOf(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((one) => shapeOf(one));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, one]): [string, unknown] => [key, shapeOf(one, key)]);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  if (typeof value !== 'string') return value === null ? 'null' : typeof value;
  return name === 'message' && value.startsWith('{') ? shapeOf(JSON.parse(value)) : formOf(value);
}

const looksLike = (body: unknown, sample: string) => expect(shapeOf(body), sample).toEqual(shapeOf(published(sample)));

const tokenFor = (scope: string | null = 'order finance company.reference') => newToken(sandbox, 'business', { scope });
async function ask(method: string, path: string, body?: unknown, scope?: string | null) {
  const json = 'application/json';
  const headers = { accept: json, 'content-type': json, authorization: `Bearer ${await tokenFor(scope)}` };
  const query = `${path.includes('?') ? '&' : '?'}businessId=${businessId}`;
  return await call(
    method,
    `${sandbox.url}${path}${query}`,
    headers,
    body === undefined ? undefined : JSON.stringify(body),
  );
}

let receiver: Receiver;
/** What arrives when a command sends this to a subscriber of the event. */
async function delivered({ eventType = 'status_changed', ...request }: DeliveryRequestInput) {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const subscribed = eventType === 'test.event.updated' ? 'status_changed' : eventType;
  const subscriber = sandbox.addSubscriber({ hookAddress: `${receiver.url}/hook`, eventType: subscribed });
  await sandbox.deliver({ eventType, ...request });
  return { bodies: receiver.received.map(({ json }) => json as Record<string, unknown>), subscriber };
}

describe('a delivery has the members of its sample', () => {
  it('about a status, with the order id as a number or as text, and an environment that may be empty or absent', async () => {
    const { bodies } = await delivered({ orderIds: ['71000123'], statuses: ['Confirmed'], count: 8 });
    const withNumber = shapeOf(published('delivery-status-changed'));
    const withText = shapeOf(published('delivery-status-changed-text-id'));
    const withoutEnv = ({ env: _, ...body }: Record<string, unknown>) => body;
    for (const body of bodies) {
      const isNumber = /"order_id":7/.test(String(body.message));
      expect(withoutEnv(shapeOf(body) as object as Record<string, unknown>)).toEqual(
        withoutEnv((isNumber ? withNumber : withText) as Record<string, unknown>),
      );
    }
    expect(new Set(bodies.map(({ env }) => env))).toEqual(new Set([undefined, '', 'sandbox', 'prod']));
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(8);
  });

  it('about a receipt, an employee, and none', async () => {
    const withoutEnv = ({ env: _, ...body }: Record<string, unknown> = {}) => body;
    const report = await delivered({ eventType: 'business_report', orderIds: ['71000123'] });
    looksLike(withoutEnv(report.bodies[0]), 'delivery-business-report');
    expect(JSON.parse(String(report.bodies[0]?.message))).toEqual({ order_id: '71000123', status: 'update' });
    const employee = await delivered({ eventType: 'employee_updated', statuses: ['delete'] });
    looksLike(withoutEnv(employee.bodies[0]), 'delivery-employee-updated');
    const test = await delivered({ eventType: 'test.event.updated' });
    looksLike(test.bodies[0], 'delivery-test');
  });
});

describe('the proof of a delivery', () => {
  it('is that of the samples', () => {
    const { secret_id, signatures } = published('delivery-signatures') as {
      secret_id: string;
      signatures: Record<string, string>;
    };
    for (const [file, signature] of Object.entries(signatures))
      expect(signatureOf(publishedBytes(file), secret_id), file).toBe(signature);
  });

  it('stands in a header that the seed draws', async () => {
    const nameOf = async (seed: number) => (await sandboxOfOneTest({ seed })).deliverySettings().signatureHeader;
    const names = await Promise.all(Array.from({ length: 30 }, (_, seed) => nameOf(seed)));
    expect(new Set(names).size).toBeGreaterThan(8);
    expect(await nameOf(7)).toBe(names[7]);
    const { subscriber } = await delivered({ orderIds: ['b-1'] });
    const [{ headers = {}, body = Buffer.alloc(0) } = {}] = receiver.received;
    const { signatureHeader } = sandbox.deliverySettings();
    expect(headers[signatureHeader.toLowerCase()]).toBe(signatureOf(body, subscriber.secretId));
  });
});

describe('an answer has the members of its sample', () => {
  it('of an order and of what one may do with it', async () => {
    const references = [{ id: sandboxReferenceFields[0].id, title: 'Cost centre', value: 'A1' }];
    const made = await ask('POST', '/v1/orders', newRide({ references, stops: [stop('origin', 'pick_up')] }));
    const { id } = made.json as { id: number };
    expect(shapeOf(made.json)).toEqual({ id: 'number' });
    sandbox.setStatus('business', String(id), 'Pending');
    sandbox.setStatus('business', String(id), 'Confirmed');
    const { json } = await readBusinessOrder(sandbox, String(id), await tokenFor());
    const sample = published('business-order-details.partly-assumed') as { supplier: { driver: { vehicle: object } } };
    Object.assign(sample.supplier.driver.vehicle, { license_plate: 'AB12 CDE' }); // "model, …" says published 2.3
    const withoutPhone = (text: string) =>
      JSON.parse(text.replaceAll(/"phone":"[^"]*"/g, '"phone":"masked"')) as unknown;
    const [seen, wanted] = [json, sample].map((body) => shapeOf(withoutPhone(JSON.stringify(body))));
    expect(seen).toEqual(wanted);
    expect(await ask('POST', `/v1/orders/${id}/cancel`)).toMatchObject({ status: 204, text: '' });

    const script = [{ status: 'Waiting', afterMs: 0 }];
    sandbox.addOrder({ ...quietOrder('partner', '71000123'), script, scheduledAt: '2026-03-02T08:15:00Z' });
    const partner = await readPartnerOrder(sandbox, '71000123', await newToken(sandbox, 'partner'));
    const masked = (body: unknown) =>
      JSON.parse(JSON.stringify(body).replaceAll(/"driver_phone":"[^"]*"/g, '"driver_phone":"masked"')) as unknown;
    expect(shapeOf(masked(partner.json))).toEqual(shapeOf(masked(published('partner-order.client-code'))));
  });

  it('of money', async () => {
    sandbox.addOrder({ ...quietOrder('business', '71000123'), script: [{ status: 'Completed', afterMs: 0 }] });
    looksLike((await ask('GET', '/v1/orders/71000123/receipt')).json, 'business-receipt.calculation-inferred');
    const since = encodeURIComponent(new Date(Date.now() - 60_000).toISOString());
    const page = (await ask('GET', `/v1/reports?limit=500&since=${since}`)).json as { orders: { id: unknown }[] };
    expect(page).toMatchObject({ result_size: 2, total_orders_in_period: 2, orders: [{ status: 'routing' }, {}] });
    looksLike({ ...page, orders: page.orders.filter(({ id }) => id === 71000123) }, 'business-report-page');
  });

  it('of the company', async () => {
    const trip = {
      ...(published('business-price-estimate-request') as object),
      product_id: sandboxProducts.standard.id,
    };
    const estimate = await ask('POST', '/v1/price-estimate', trip);
    expect(shapeOf(estimate.json)).toEqual(shapeOf(published('business-price-estimate-response')));
    looksLike((await ask('GET', '/v1/companies/settings')).json, 'business-company-settings');
    const products = (await ask('POST', '/v1/products', { origin: { lat: 1, lng: 2 } })).json;
    expect(shapeOf((products as { products: { transportation: unknown } }).products.transportation)).toEqual(
      shapeOf(
        (published('business-products-response.partly-assumed') as { products: { transportation: unknown } }).products
          .transportation,
      ),
    );
    const path = `/v1/reference-fields/${sandboxReferenceFields[0].codesId}/codes`;
    const codes = await ask('POST', path, published('business-reference-codes-request'));
    looksLike(codes.json, 'business-reference-codes-response');
    const address = { hook_address: 'https://receiver.example/hook', event_types: 'business_report' };
    const subscribed = await ask('POST', '/v1/subscribers', address, null);
    looksLike(subscribed.json, 'subscriber-created');
    expect(await ask('GET', '/v1/subscribers', undefined, null)).toMatchObject({ json: { data: [subscribed.json] } });
  });

  it('of tokens and of refusals', async () => {
    const masked = (body: unknown) => ({ ...(body as object), access_token: 'masked' });
    const tokens = [
      ['partner', 'demand_partner', 'token-partner'],
      ['business', 'order finance', 'token-business-scoped'],
      ['business', null, 'token-business-unscoped'],
    ] as const;
    for (const [at, scope, sample] of tokens) {
      const { access_token: _, ...rest } = (await askToken(sandbox, at, { scope })).json as Record<string, unknown>;
      expect(masked(rest)).toEqual(masked(published(sample)));
    }
    const login = await askToken(sandbox, 'partner', { client_secret: 'wrong' });
    expect(login).toMatchObject({ status: 401, json: published('error-envelope-401-login') });
    sandbox.setTokenLifetime('partner', 1);
    const token = await newToken(sandbox, 'partner');
    await expect
      .poll(async () => (await readPartnerOrder(sandbox, 'p-1', token)).json, { timeout: 3_000 })
      .toEqual(published('error-envelope-401-token'));
    const json = { authorization: `Bearer ${await newToken(sandbox, 'partner')}`, 'content-type': 'text/plain' };
    const refused = await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, json);
    const { error, ...envelope } = refused.json as { error: { details: object } };
    expect(shapeOf({ ...envelope, error: { ...error, details: {} } })).toEqual(
      shapeOf({ ...(published('error-envelope-400') as object), error: { code: 'A', message: 'b', details: {} } }),
    );
    const wrong = (await ask('POST', '/v1/orders', newRide({ category: 'teleport' }))).json as { errors: object[] };
    const { errors } = published('business-reference-codes-response') as { errors: { index?: number }[] };
    expect(shapeOf(wrong)).toEqual(shapeOf({ errors: errors.map(({ index: _, ...error }) => error) }));
  });
});

it('receipts change three times within a week, and a report tells of the first one and of each change', async () => {
  const day = 86_400_000;
  const order = { ...quietOrder('business', '7'), script: [{ status: 'Completed', afterMs: 0 }] };
  const live = { order, addedAt: 0, steps: [{ status: 'Completed', at: 0 }] };
  const totalAt = (now: number) => receiptBody(live, { ...defaultRideSettings, speed: 1, now })?.payment_summary;
  const totals = [0, 0.1, 3, 7].map((days) => totalAt(days * day)?.total_inc_tax);
  expect(totals).toEqual([48, 54, 66, 60]);
  expect(totalAt(60 * day)).toEqual(totalAt(7 * day));

  sandbox = await sandboxOfOneTest({ speed: 7 * 86_400 }); // a week in a second
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  sandbox.addSubscriber({ hookAddress: receiver.url, eventType: 'business_report' });
  sandbox.addOrder(quietOrder('business', '7'));
  sandbox.setStatus('business', '7', 'Completed');
  await expect.poll(() => receiver.received.length, { timeout: 5_000 }).toBe(4);
});
