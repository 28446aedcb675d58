import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader, toIgnored, whyToPark } from '../../src/contracts/delivery-body.js';
import { valueAt } from '../../src/contracts/json.js';
import { forAny } from '../support/for-any.js';

const { pointers, statuses } = defaultContractProfile;
const read = createDeliveryReader(pointers.delivery, statuses);
const company = '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e';

const flat = { order_id: 4711, status: 'Driving' };
const nested = { order: { id: 4711, status: 'Driving' } };
const inText = { message: JSON.stringify(flat) };
const assumedShapes = [inText, flat, nested, { data: flat }, { data: nested }, { value: flat }, { value: nested }];

describe('a delivery', () => {
  it.each(assumedShapes)('is read in the assumed shape %j', (shape) => {
    expect(read({ ...shape, event_type: 'status_changed', business_id: company })).toEqual({
      ...{ isObject: true, isClear: true, orderId: '4711', isOrderIdUnusable: false, status: 'Driving' },
      ...{ eventType: 'status_changed', businessId: company },
    });
  });

  it('is read where a profile says so', () => {
    const own = { ...pointers.delivery, orderId: ['/a~1b/0/no'], status: ['/x'] };
    const reading = createDeliveryReader(own, { notOrderStatus: [], words: {} })({
      'a/b': [{ no: '1' }],
      order_id: '2',
      x: 'ok',
    });
    expect(reading).toMatchObject({ orderId: '1', status: 'ok' });
  });

  it('has no status in a word at the top that speaks of the message', () => {
    expect(read({ status: 'Success', order_id: '1' })).not.toHaveProperty('status');
    expect(read({ order: { status: 'success' } })).toMatchObject({ status: 'success' });
  });

  it('has no order id in a bare "id", which may name the event', () => {
    expect(read({ id: '4711' })).toMatchObject({ orderId: null, isOrderIdUnusable: false });
  });

  it.each(['a/b', 'x'.repeat(129), ' 1 ', '..', 4711.5, 2 ** 53, 'a\nb'])('has an unusable order id: %j', (id) => {
    expect(read({ order_id: id })).toMatchObject({ orderId: null, isOrderIdUnusable: true });
    expect(read({ order: { id }, order_id: '1' })).toMatchObject({ orderId: '1', isOrderIdUnusable: false });
  });

  it.each([null, '', {}, [], true])('has no order id at all: %j', (order_id) => {
    expect(read({ order_id })).toMatchObject({ orderId: null, isOrderIdUnusable: false });
  });

  it('reads own names only', () => {
    expect(read(JSON.parse('{"__proto__":{"order_id":"1"}}'))).toMatchObject({ orderId: null });
  });
});

describe('the way of a delivery', () => {
  const address = { eventType: 'status_changed', businessId: company } as const;
  const reportAddress = { ...address, eventType: 'business_report' } as const;
  const why = (body: object, at: typeof address | typeof reportAddress = address) => whyToPark(read({ ...body }), at);

  it('is open when it names an order, and company and event or neither', () => {
    expect(why({ order_id: '1' })).toBeNull();
    const named = { order_id: '1', event_type: 'status_changed', business_id: company.toUpperCase() };
    expect(why(named)).toBeNull();
    expect(whyToPark(read({ order_id: '1', business_id: 'any' }), { eventType: 'status_changed' })).toBeNull();
  });

  it('needs no order for a report, which may be named in the plural', () => {
    expect(why({ event_type: 'business_reports' }, reportAddress)).toBeNull();
    expect(why({ order_id: 'a/b' }, reportAddress)).toBe('orderIdUnusable');
  });

  it.each([
    [{}, 'noOrderId'],
    [{ order_id: 'a/b' }, 'orderIdUnusable'],
    [{ order_id: '1', event_type: 'business_report' }, 'otherEventType'],
    [{ order_id: '1', event_type: 'something' }, 'otherEventType'],
    [{ order_id: '1', business_id: 'other', event_type: 'something' }, 'otherCompany'],
  ])('is closed to %j: %s', (body, reason) => {
    expect(why(body)).toBe(reason);
  });

  it('ends at once for a trial, and for an event about an employee', () => {
    const types = ['test_event', 'Test', 'test.event.updated', 'employee_updated', 'status_changed', '', undefined];
    const ends = types.map((event_type) => toIgnored(read({ event_type })));
    expect(ends).toEqual(['test', 'test', 'test', 'employee', null, null, null]);
  });
});

const maybe = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>('4711', 4711, 'a/b', 'Driving', 'test'));
const order = fc.record({ id: maybe, order_id: maybe, status: maybe, business_id: maybe, event_type: maybe });
const body = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()),
  order,
  fc.record({ order, data: fc.oneof(order, fc.record({ order })), value: maybe }),
);

it('any JSON object as a delivery gives a bounded reading, with the first usable value of each kind', () => {
  forAny(body, (json) => {
    const reading = read(json);
    expect(JSON.stringify(reading).length).toBeLessThan(2_500);
    const texts = pointers.delivery.eventType.map((pointer) => valueAt(json, pointer));
    const usable = texts.find((text) => typeof text === 'string' && text.trim() !== '' && text.length <= 100);
    expect(reading.eventType).toBe(usable);
  });
});
