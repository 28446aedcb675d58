import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defaultBookingSettings } from '../../sandbox/booking-settings.js';
import { sandboxProducts } from '../../sandbox/catalogue.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { businessCall, type CallChange, inMs, newDelivery, newRide, stop } from './booking-calls.js';
import { codeOf, newToken, type Seen } from './calls.js';

const hour = 3_600_000;
let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'business');
});
afterEach(() => void sandbox.setBookingSettings(defaultBookingSettings));
afterAll(() => sandbox.close());

const create = (body: unknown = newRide(), change: CallChange = {}) =>
  businessCall(sandbox, 'POST', '/v1/orders', body, { token, ...change });
const update = (orderId: string, body: unknown) =>
  businessCall(sandbox, 'PATCH', `/v1/orders/${orderId}`, body, { token });
const created = async (body: unknown) => ((await create(body)).json as { id: string }).id;
const fieldsOf = ({ json }: Seen) => Object.keys((json as { error: { details: object } }).error.details);

const origin = stop('origin', 'pick_up');
const withUser = (user: object) => ({ ...origin, actions: [{ type: 'pick_up', user }] });
const dropOffs = (count: number) => [
  newDelivery().stops[0],
  ...Array.from({ length: count }, () => ({ ...newDelivery().stops[1], type: 'on_going' })),
];

describe('a create with a field missing or wrong is answered with 400 and names it', () => {
  it.each([
    [newRide({ category: 'teleport' }), 'category'],
    [newRide({ product_id: 'cheap' }), 'product_id'],
    [newRide({ product_id: undefined }), 'product_id'],
    [newRide({ scheduled_at: 'tomorrow' }), 'scheduled_at'],
    [newRide({ scheduled_at: '2031-01-01T10:00:00' }), 'scheduled_at'],
    [newRide({ quote_id: 'q' }), 'quote_id'],
    [newRide({ stops: undefined }), 'stops'],
    [newRide({ stops: [] }), 'stops'],
    [newRide({ stops: [stop('destination', 'drop_off')] }), 'stops.0.type'],
    [newRide({ stops: [origin, origin] }), 'stops.1.type'],
    [newRide({ stops: [origin, stop('destination', 'drop_off'), stop('on_going', 'stop_by')] }), 'stops.1.type'],
    [newRide({ stops: [{ ...origin, actions: [] }] }), 'stops.0.actions'],
    [newRide({ stops: [withUser({ name: 'Pat', phone: '+15550100200' })] }), 'stops.0.actions.0.user.phone'],
    [newRide({ stops: [withUser({ name: '', phone: '15550100200' })] }), 'stops.0.actions.0.user.name'],
    [newRide({ stops: [stop('origin', 'pick_up', { lat: 91, lng: 0 })] }), 'stops.0.location.lat'],
    [newRide({ stops: [stop('origin', 'pick_up', { lat: 1, lng: '2' })] }), 'stops.0.location.lng'],
    [newRide({ note_to_driver: 'x'.repeat(101) }), 'note_to_driver'],
    [newRide({ references: [{ id: 11, value: 'A1' }] }), 'references.0.title'],
    [newDelivery({ stops: [origin] }), 'stops.0.actions.0.parcel'],
    [newDelivery({ stops: dropOffs(7) }), 'stops'],
    ['{"category":', 'body'],
    [[], 'body'],
    ['', 'body'],
  ])('%j', async (body, field) => {
    const before = sandbox.createdOrders().length;
    const seen = await create(body);
    expect([seen.status, codeOf(seen)]).toEqual([400, 'VALIDATION_ERROR']);
    expect(fieldsOf(seen)).toContain(field);
    expect(sandbox.createdOrders()).toHaveLength(before);
  });

  it('and six drop-offs of a delivery are fine', async () => {
    expect((await create(newDelivery({ stops: dropOffs(6) }))).status).toBe(201);
  });
});

describe('a create that breaks a rule of the business is answered with 422', () => {
  const reference = { id: 11, title: 'Cost centre', value: 'A1' };
  it.each([
    [newRide({ product_id: sandboxProducts.parcel.id }), 'PRODUCT_NOT_FOUND'],
    [newRide({ product_id: '00000000-0000-4000-8000-000000000000' }), 'PRODUCT_NOT_FOUND'],
    [newRide({ scheduled_at: inMs(-1000) }), 'SCHEDULED_IN_THE_PAST'],
    [newRide({ scheduled_at: inMs(31 * 24 * hour) }), 'SCHEDULED_TOO_FAR_AHEAD'],
    [newRide({ references: [{ ...reference, id: 99 }] }), 'REFERENCE_UNKNOWN'],
  ])('%j', async (body, code) => {
    const seen = await create(body);
    expect([seen.status, codeOf(seen)]).toEqual([422, code]);
  });

  it('also where the settings of the company say so', async () => {
    sandbox.setBookingSettings({ mandatoryReferences: [11], mandatoryDestination: true });
    expect(codeOf(await create(newRide({ stops: [origin] })))).toBe('DESTINATION_REQUIRED');
    expect(codeOf(await create())).toBe('REFERENCE_REQUIRED');
    const id = await created(newRide({ references: [reference], scheduled_at: inMs(2 * hour) }));
    expect((await update(id, { note_to_driver: 'the reference stays' })).status).toBe(200);
    expect(codeOf(await update(id, { references: [] }))).toBe('REFERENCE_REQUIRED');
  });
});

describe('a change is refused', () => {
  it.each([
    ['of an order that is not scheduled', newRide(), {}, 'ORDER_NOT_EDITABLE'],
    [
      'of a product that does not allow it',
      newRide({ scheduled_at: inMs(2 * hour), product_id: sandboxProducts.executive.id }),
      {},
      'PRODUCT_NOT_EDITABLE',
    ],
    ['too late', newRide({ scheduled_at: inMs(hour / 2 - 60_000) }), {}, 'TOO_LATE_TO_EDIT'],
    [
      'to a time in the past',
      newRide({ scheduled_at: inMs(2 * hour) }),
      { scheduled_at: inMs(-hour) },
      'SCHEDULED_IN_THE_PAST',
    ],
  ])('%s', async (_, ride, change, code) => {
    const id = await created(ride);
    const seen = await update(id, { note_to_driver: 'please', ...change });
    expect([seen.status, codeOf(seen)]).toEqual([422, code]);
    const kept = sandbox.createdOrders().find(({ orderId }) => orderId === id);
    expect(kept?.order).not.toHaveProperty('note_to_driver');
  });

  it('once the order is under way', async () => {
    const id = await created(newRide({ scheduled_at: inMs(2 * hour) }));
    sandbox.setStatus('business', id, 'Confirmed');
    expect(codeOf(await update(id, { note_to_driver: 'x' }))).toBe('ORDER_NOT_EDITABLE');
  });

  it.each([[{}], [{ stops: [] }], [{ scheduled_at: null }], ['nonsense']])(
    'when it is malformed: %j',
    async (change) => {
      const id = await created(newRide({ scheduled_at: inMs(2 * hour) }));
      expect(codeOf(await update(id, change))).toBe('VALIDATION_ERROR');
    },
  );
});

describe('every operation about orders and the company', () => {
  const calls = [
    ['GET', '/v1/companies/settings', 'order'],
    ['POST', '/v1/products', 'order'],
    ['POST', '/v1/orders', 'order'],
    ['PATCH', '/v1/orders/nobody', 'order'],
    ['POST', '/v1/orders/nobody/cancel', 'order'],
    ['POST', '/v1/reference-fields/11/codes', 'company.reference'],
  ] as const;

  it.each(calls)(
    '%s %s wants a live token with its scope, of the right company, and JSON',
    async (method, path, scope) => {
      const right = await newToken(sandbox, 'business', { scope });
      const other = await newToken(sandbox, 'business', { scope: 'finance' });
      const ask = async (change: CallChange) =>
        (await businessCall(sandbox, method, path, undefined, { token: right, ...change })).status;
      expect(await ask({ token: 'nonsense' })).toBe(401);
      expect(await ask({ token: other })).toBe(403);
      expect(await ask({ token: await newToken(sandbox, 'partner') })).toBe(403);
      expect(await ask({ query: '?businessId=another' })).toBe(403);
      expect(await ask({ query: '' })).toBe(400);
      expect(await ask({ headers: { 'content-type': 'text/plain' } })).toBe(400);
      expect(await ask({ headers: { accept: '*/*' } })).toBe(400);
      expect([200, 400, 404]).toContain(await ask({}));
    },
  );

  it.each(['updateOrder', 'cancelOrder'])('answers 404 for an order that is not there: %s', async (operation) => {
    const [method, path] = operation === 'updateOrder' ? ['PATCH', ''] : ['POST', '/cancel'];
    const body = operation === 'updateOrder' ? { note_to_driver: 'x' } : undefined;
    const seen = await businessCall(sandbox, method, `/v1/orders/nobody${path}`, body, { token });
    expect([seen.status, codeOf(seen)]).toEqual([404, 'ORDER_NOT_FOUND']);
  });
});
