import { beforeEach, describe, expect, it } from 'vitest';
import { sandboxProducts } from '../../../dev/sandbox/ride/catalogue.js';
import { type Sandbox, sandboxCredentials } from '../../../dev/sandbox/sandbox.js';
import { inMs, newRide, stop } from './booking-calls.js';
import { call, codeOf, newToken, type Seen, sandboxOfOneTest } from './calls.js';

const hour = 3_600_000;
const { businessId } = sandboxCredentials.business;
let sandbox: Sandbox;
let token: string;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest();
  token = await newToken(sandbox, 'business', { scope: 'order company.reference' });
});

/** How a call differs from a correct one. */
interface CallChange {
  token?: string;
  query?: string;
  headers?: Record<string, string>;
}

/** One call of the business interface with all that it must carry. A string is sent as it is. */
function ask(method: string, path: string, body?: unknown, change: CallChange = {}): Promise<Seen> {
  const sent = {
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: `Bearer ${change.token ?? token}`,
    ...change.headers,
  };
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  return call(method, `${sandbox.url}${path}${change.query ?? `?businessId=${businessId}`}`, sent, text);
}

const create = (body: unknown) => ask('POST', '/v1/orders', body);
const outcomeOf = (seen: Seen) => [seen.status, codeOf(seen)];

describe('a create is refused', () => {
  const origin = stop('origin', 'pick_up');
  const destination = stop('destination', 'drop_off');
  const withPhone = (phone: string) => ({ ...origin, actions: [{ type: 'pick_up', user: { name: 'Pat', phone } }] });

  it.each([
    [newRide({ category: 'teleport' }), 'category'],
    [newRide({ product_id: undefined }), 'product_id'],
    [newRide({ scheduled_at: '2031-01-01T10:00:00' }), 'scheduled_at'],
    [newRide({ quote_id: 'q' }), 'quote_id'],
    [newRide({ stops: [] }), 'stops'],
    [newRide({ stops: [destination] }), 'stops.0.type'],
    [newRide({ stops: [origin, destination, stop('on_going', 'stop_by')] }), 'stops.1.type'],
    [newRide({ stops: [{ ...origin, actions: [] }] }), 'stops.0.actions'],
    [newRide({ stops: [withPhone('+15550100200')] }), 'stops.0.actions.0.user.phone'],
    [newRide({ stops: [stop('origin', 'pick_up', { lat: 91, lng: 0 })] }), 'stops.0.location.lat'],
    [newRide({ note_to_driver: 'x'.repeat(101) }), 'note_to_driver'],
    [newRide({ references: [{ id: 34549, value: 'A1' }] }), 'references.0.title'],
    [newRide({ category: 'delivery' }), 'stops.0.actions.0.parcel'],
    ['{"category":', 'body'],
  ])('with 400 that names the field for %j', async (body, field) => {
    const seen = await create(body);
    expect(outcomeOf(seen)).toEqual([400, 'validation_error']);
    const { errors } = seen.json as { errors: { field_errors: { field: string }[] }[] };
    expect(errors[0]?.field_errors.map((one) => one.field)).toContain(field);
    expect(sandbox.createdOrders()).toEqual([]);
  });

  it.each([
    [{ product_id: sandboxProducts.parcel.id }, 'product_not_found'],
    [{ scheduled_at: inMs(-1_000) }, 'scheduled_in_the_past'],
    [{ scheduled_at: inMs(31 * 24 * hour) }, 'scheduled_too_far_ahead'],
    [{ references: [{ id: 99, title: 'Cost centre', value: 'A1' }] }, 'reference_unknown'],
  ])('with 422 for %j', async (change, code) => {
    expect(outcomeOf(await create(newRide(change)))).toEqual([422, code]);
  });
});

describe('an operation of the business interface', () => {
  const reads = [
    ['GET', '/v1/orders/none', 'order'],
    ['GET', '/v1/orders/none/receipt', 'finance'],
    ['GET', '/v1/reports', 'finance'],
  ] as const;
  const calls = [
    ['GET', '/v1/companies/settings', 'order'],
    ['POST', '/v1/products', 'order'],
    ['POST', '/v1/orders', 'order'],
    ['PATCH', '/v1/orders/none', 'order'],
    ['POST', '/v1/orders/none/cancel', 'order'],
    ['POST', '/v1/reference-fields/11/codes', 'company.reference'],
    ['POST', '/v1/subscribers', null],
  ] as const;
  const tokenFor = (scope: string | null) => newToken(sandbox, 'business', { scope });

  it.each([...reads, ...calls])(
    '%s %s wants a live token with its scope, of its company',
    async (method, path, scope) => {
      token = await tokenFor(scope);
      const statusOf = async (change: CallChange) => (await ask(method, path, undefined, change)).status;
      expect(await statusOf({ token: 'nonsense' })).toBe(401);
      for (const other of ['order', 'finance', null].filter((one) => one !== scope))
        expect(await statusOf({ token: await tokenFor(other) }), `scope ${other}`).toBe(403);
      expect(await statusOf({ token: await newToken(sandbox, 'partner') })).toBe(403);
      const queries = ['?businessId=another', '', `?businessId=${businessId}&businessId=x`];
      expect(await Promise.all(queries.map((query) => statusOf({ query })))).toEqual([403, 400, 400]);
      expect([200, 400, 404]).toContain(await statusOf({}));
    },
  );

  it.each(calls)('%s %s sends and accepts JSON alone', async (method, path, scope) => {
    token = await tokenFor(scope);
    for (const headers of [{ 'content-type': 'text/plain' }, { accept: '*/*' }])
      expect((await ask(method, path, undefined, { headers })).status).toBe(400);
  });
});
