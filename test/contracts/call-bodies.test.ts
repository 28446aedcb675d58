import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCallBody, phonesIn } from '../../src/contracts/call-bodies.js';
import { businessOperations } from '../../src/domain/call.js';
import { InvalidInput } from '../../src/domain/errors.js';
import estimateRequest from '../fixtures/published/business-price-estimate-request.json' with { type: 'json' };
import codesRequest from '../fixtures/published/business-reference-codes-request.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const period = { since: '2026-03-01T00:00:00+03:00', to: '2026-04-01T00:00:00Z' };
const productId = '22222222-3333-4444-8555-666666666666';
const phone = '15550001111';
const action = { type: 'pick_up', user: { name: 'A. Rider', phone } };
const stop = { type: 'origin', actions: [action], location: { lat: 51.5, lng: '-0.12' } };
const order = { category: 'transportation', product_id: productId, stops: [stop] };
const withUser = (user: object) => ({ ...order, stops: [{ ...stop, actions: [{ ...action, user }] }] });

describe('the body of a create (assumed)', () => {
  it('goes out as it came, with its unknown fields', () => {
    const body = { ...order, colour: 'red', stops: [{ ...stop, level: 2, location: { lat: 1, lng: 2, floor: 3 } }] };
    expect(parseCallBody('createOrder', body)).toEqual(body);
  });

  it('has the product id in its one spelling', () => {
    const { product_id: _, ...rest } = order;
    expect(parseCallBody('createOrder', { ...rest, product_ID: productId })).toEqual(order);
  });

  it.each<[string, object]>([
    ['body.category: must be a text', { ...order, category: 5 }],
    ['body.product_id: must be a UUID', { ...order, product_id: '42' }],
    ['body.stops: must hold at least one stop', { ...order, stops: [] }],
    ['body.stops: must be an array', { ...order, stops: undefined }],
    ['body.stops.0.actions: must hold at least one action', { ...order, stops: [{ ...stop, actions: [] }] }],
    ['body.stops.0.location: must be an object with lat and lng', { ...order, stops: [{ ...stop, location: null }] }],
    ['body.stops.0.location.lat: must be a number', { ...order, stops: [{ ...stop, location: { lat: 'x', lng: 1 } }] }],
    ['body.stops.0.actions.0.user.name: must not be empty', withUser({ name: '', phone })],
    ['body.stops.0.actions.0.user.phone: must be an international number', withUser({ name: 'A', phone: `+${phone}` })],
    ['body.scheduled_at: must be an ISO 8601 instant', { ...order, scheduled_at: '2031-05-01T10:00:00' }],
    ['body.note_to_driver: must have at most 100', { ...order, note_to_driver: 'x'.repeat(101) }],
    ['body.references.0: must be an object with id, title and value', { ...order, references: ['A'] }],
  ])('that is wrong is refused by the name of its field: %s', (words, body) => {
    const act = () => parseCallBody('createOrder', body);
    expect(act).toThrow(InvalidInput);
    expect(act).toThrow(words);
    expect(act).not.toThrow(phone);
  });

  it.each(['body.category', 'body.product_id', 'body.stops'])('that is wrong in several fields names %s', (field) => {
    expect(() => parseCallBody('createOrder', { stops: [] })).toThrow(field);
  });
});

describe('the bodies of the others (assumed)', () => {
  it.each([
    ['updateOrder', { note_to_driver: 'at the gate' }],
    ['updateOrder', { colour: 'red' }],
    ['products', { origin: { lat: 1, lng: 2 }, riders: 3 }],
    ['priceEstimate', estimateRequest],
    ['addReferenceCode', codesRequest], // one of them is bad, which the service says of that one alone
    ['orderReport', { ...period, limit: 10, offset: 20 }],
    ['addReferenceCode', [{ value: 'A1', expires: 'soon' }]],
  ] as const)('%s takes %j', (operation, body) => {
    expect(parseCallBody(operation, body)).toEqual(body);
  });

  it.each([
    ['updateOrder', {}, 'must name at least one field'],
    ['updateOrder', { stops: [] }, 'body.stops: must hold at least one stop'],
    ['updateOrder', [], 'body: must be a JSON object'],
    ['products', { destination: { lat: 1, lng: 2 } }, 'body.origin: must be an object'],
    ['priceEstimate', { destination: { lat: 1, lng: 2 } }, 'body.origin: must be an object'],
    ['priceEstimate', { origin: { lat: 1, lng: 2 }, product_id: 'x' }, 'body.product_id: must be a UUID'],
    ['addReferenceCode', [], 'must hold at least one code'],
    ['addReferenceCode', [{ value: 1 }], 'body.0.value: must be a text'],
    ['orderReport', { since: '2026-03-01T00:00:00Z' }, 'body.to: must be a text'],
    ['orderReport', { ...period, since: '2026-03-01' }, 'body.since: must be an ISO 8601 instant'],
    ['orderReport', { ...period, limit: 51 }, 'body.limit: must be at most 50'],
    ['orderReport', { ...period, offset: -1 }, 'body.offset: must be at least 0'],
    ['orderReport', { ...period, page: 2 }, 'body: may hold since, to, limit and offset alone'],
    ['addReferenceCode', { value: 'A1' }, 'body: must be an array'],
  ] as const)('%s refuses %j', (operation, body, words) => {
    expect(() => parseCallBody(operation, body)).toThrow(words);
  });

  it('whatever comes is taken or refused as bad input, nothing else', () => {
    forAny(fc.constantFrom(...businessOperations), fc.jsonValue(), (operation, body) => {
      try {
        parseCallBody(operation, body);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidInput);
      }
    });
  });
});

it('the phone numbers of a body are found at any depth', () => {
  expect(phonesIn({ ...order, contact: [{ phone: '1' }] })).toEqual([phone, '1']);
  expect(phonesIn(undefined)).toEqual([]);
});
