import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defaultBookingSettings } from '../../sandbox/booking-settings.js';
import { sandboxProducts } from '../../sandbox/catalogue.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { businessCall } from './booking-calls.js';
import { codeOf, newToken } from './calls.js';

let sandbox: Sandbox;
let token: string;
let referenceToken: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'business');
  referenceToken = await newToken(sandbox, 'business', { scope: 'company.reference' });
});
afterEach(() => void sandbox.setBookingSettings(defaultBookingSettings));
afterAll(() => sandbox.close());

const settings = () => businessCall(sandbox, 'GET', '/v1/companies/settings', undefined, { token });
const products = (body: unknown) => businessCall(sandbox, 'POST', '/v1/products', body, { token });
const addCodes = (body: unknown, field = '11') =>
  businessCall(sandbox, 'POST', `/v1/reference-fields/${field}/codes`, body, { token: referenceToken });

describe('the settings of the company', () => {
  it('say what an order must name, as the sandbox is told', async () => {
    sandbox.setBookingSettings({ mandatoryReferences: [12], mandatoryDestination: true });
    expect(await settings()).toMatchObject({
      status: 200,
      json: {
        mandatory_destination: true,
        allow_multi_riders: true,
        references: [
          { id: 11, title: 'Cost centre', mandatory: false },
          { id: 12, title: 'Project', mandatory: true },
        ],
        payment_types: [expect.any(String)],
      },
    });
  });
});

describe('products', () => {
  const origin = { lat: 52.5, lng: 13.4 };

  it('are given in two groups', async () => {
    const { standard, executive, parcel } = sandboxProducts;
    expect(await products({ origin, destination: origin })).toMatchObject({
      status: 200,
      json: {
        products: {
          transportation: [
            { product_id: standard.id, edit_future_order_enabled: true, edit_before_scheduled_at_min: 30 },
            { product_id: executive.id, edit_future_order_enabled: false },
          ],
          delivery: [{ product_id: parcel.id }],
        },
      },
    });
  });

  it.each([
    [{}, 400, 'VALIDATION_ERROR'],
    [{ origin: { lat: 'x', lng: 1 } }, 400, 'VALIDATION_ERROR'],
    [{ origin, scheduled_at: 'later' }, 400, 'VALIDATION_ERROR'],
    [{ origin: { lat: 89, lng: 1 } }, 422, 'AREA_NOT_SERVED'],
  ])('are refused for %j', async (body, status, code) => {
    const seen = await products(body);
    expect([seen.status, codeOf(seen)]).toEqual([status, code]);
  });
});

describe('reference codes', () => {
  it('are added one by one: the good ones are, and the others say why not', async () => {
    expect(
      await addCodes([{ value: 'A1' }, { value: 'not good' }, { value: 'A1' }, {}, { value: 'B2' }]),
    ).toMatchObject({
      status: 200,
      json: {
        has_errors: true,
        data: [
          { id: expect.any(Number), value: 'A1' },
          { id: expect.any(Number), value: 'B2' },
        ],
        errors: [
          { index: 1, code: 'INVALID_VALUE', field_errors: [{ field: 'value', code: 'INVALID_VALUE' }] },
          { index: 2, code: 'ALREADY_EXISTS' },
          { index: 3, code: 'INVALID_VALUE' },
        ],
      },
    });
    expect(sandbox.referenceCodes().map(({ value }) => value)).toEqual(['A1', 'B2']);
  });

  it('are told apart by their field', async () => {
    await addCodes([{ value: 'C3' }]);
    expect((await addCodes([{ value: 'C3' }], '12')).json).toMatchObject({ has_errors: false, errors: [] });
    expect((await addCodes([{ value: 'C3' }])).json).toMatchObject({ has_errors: true, data: [] });
  });

  it.each([
    [{ value: 'A1' }, '11', 400, 'VALIDATION_ERROR'],
    [[], '11', 400, 'VALIDATION_ERROR'],
    [['A1'], '11', 400, 'VALIDATION_ERROR'],
    [[{ value: 'A1' }], '99', 404, 'REFERENCE_FIELD_NOT_FOUND'],
  ])('are refused as a whole for %j at field %s', async (body, field, status, code) => {
    const seen = await addCodes(body, field);
    expect([seen.status, codeOf(seen)]).toEqual([status, code]);
  });
});
