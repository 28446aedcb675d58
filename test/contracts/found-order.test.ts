import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { findRequestId, isMadeBy, readSearch } from '../../src/contracts/found-order.js';
import { toOrderId } from '../../src/domain/keys.js';
import { forAny } from '../support/for-any.js';

const { findOrder, orderDetails } = defaultContractProfile.pointers;
const ours = 'ride.business.trip-1';
const entry = (requestId: unknown, id: unknown = '4711') => ({ id, request_id: requestId });
const search = (body: unknown) => readSearch(body, ours, findOrder);

describe('a search by request id', () => {
  it.each([
    ['under orders', { orders: [entry(ours)] }],
    ['as the whole answer', [entry(ours)]],
    ['under data, each in an object of its own', { data: [{ order: { request_id: ours, id: 4711 } }] }],
    ['among others', { orders: [entry('ride.business.trip-10', '1'), entry(ours), entry(undefined, '2'), null, 'x'] }],
    ['with counts that fit', { orders: [entry(ours)], total: 1, next: null, has_more: false, links: { next: '' } }],
    ['whose fields may have any names', { orders: [{ ...entry(ours), next_stop: 'x', passenger_count: 3 }] }],
    ['beside words that only resemble counts', { orders: [entry(ours)], account: 9, nextcloud: 1, discountId: 7 }],
  ])('proves the one order with exactly our id, %s', (_, body) => {
    expect(search(body)).toMatchObject({ kind: 'order', orderId: '4711' });
  });

  it.each([
    ['nothing', { orders: [] }],
    ['another id', { orders: [entry('ride.business.trip-10')] }],
    ['our id in another spelling', { orders: [entry(ours.toUpperCase())] }],
    ['our id with a blank', { orders: [entry(` ${ours}`)] }],
    ['no id', { orders: [{ id: '4711' }] }],
    ['our id in a list', { orders: [entry([ours])] }],
    ['our id under another name', { orders: [{ id: '4711', reference: ours }] }],
    ['our id beside the list', { orders: [{ id: '4711' }], request_id: ours }],
    [
      'another id where the profile looks first',
      { orders: [{ order: { request_id: 'x' }, request_id: ours, id: '1' }] },
    ],
  ])('that shows %s proves nothing', (_, body) => {
    expect(search(body)).toEqual({ kind: 'none' });
  });

  it('that shows our id twice proves nothing, and names both orders', () => {
    const body = { orders: [entry(ours, '1'), entry(ours, 2), entry(ours, null)] };
    expect(search(body)).toEqual({ kind: 'several', orderIds: ['1', '2', 'without an id'] });
    expect(search({ orders: [entry(ours), entry(ours)] })).toMatchObject({ kind: 'several' });
  });

  it.each([undefined, '', 'a/b', '..', {}, 1.5])('whose order has the id %j proves nothing', (id) => {
    expect(search({ orders: [{ request_id: ours, id }] })).toEqual({ kind: 'nameless' });
  });

  it.each([
    { next: '/v1/orders?page=2' },
    { meta: { nextPage: 2 } },
    { paging: { has_more: true } },
    { links: { next: { href: '/x' } } },
    { end_cursor: 'abc' },
    { total: 2 },
    { meta: { totalCount: '2' } },
    { page: { total_pages: 2 } },
  ])('whose answer goes on (%j) proves nothing', (more) => {
    expect(search({ orders: [entry(ours)], ...more })).toEqual({ kind: 'incomplete' });
    expect(search({ orders: [], ...more })).toEqual({ kind: 'incomplete' });
  });

  it('whose answer has 10,000 entries proves nothing', () => {
    const others = Array.from({ length: 9_999 }, (_, i) => entry(`other-${i}`, i));
    expect(search({ orders: [...others, entry(ours)] })).toEqual({ kind: 'incomplete' });
  });

  it.each([undefined, null, 'text', {}, { orders: null }, { orders: { 0: entry(ours) } }])(
    'without a list (%j) is said to be unreadable',
    (body) => {
      expect(() => search(body)).toThrow(expect.objectContaining({ code: 'NO_LIST' }));
    },
  );

  const values = fc.oneof(fc.constantFrom(ours, `${ours}0`, 'ride.business', ''), fc.string(), fc.jsonValue());
  const entries = fc.oneof(
    { weight: 4, arbitrary: fc.record({ id: fc.integer({ min: 1 }), request_id: values }, { requiredKeys: [] }) },
    fc.jsonValue(),
  );
  it('whatever it answers, only the one entry that has exactly our id is taken', () => {
    let taken = 0;
    const bodies = fc.tuple(fc.array(entries, { maxLength: 120 }), fc.constantFrom('orders', 'data'));
    forAny(bodies, ([list, at]) => {
      const found = search({ [at]: list });
      const claims = list.flatMap((one) => {
        const fields = (one ?? {}) as { id?: unknown; request_id?: unknown; order?: { request_id?: unknown } };
        return fields.order?.request_id === undefined && fields.request_id === ours ? [fields.id] : [];
      });
      if (found.kind !== 'order') return;
      expect(claims).toHaveLength(1);
      expect(found.orderId).toBe(String(claims[0]));
      taken += 1;
    });
    expect(taken).toBeGreaterThan(0);
  });
});

describe('an order that a delivery names', () => {
  const pointers = { ...orderDetails, requestId: ['/order/request_id', '/request_id'] };
  const claim = { orderId: toOrderId('4711'), requestId: ours };
  it.each([
    [true, { id: '4711', request_id: ours }],
    [true, { order: { id: 4711, request_id: ours } }],
    [true, { request_id: ours }],
    [false, { id: '4711', request_id: `${ours}0` }],
    [false, { id: '4712', request_id: ours }],
    [false, { id: '4711' }],
    [false, undefined],
  ])('is ours: %s, where it says %j', (isOurs, body) => {
    expect(isMadeBy(body, claim, pointers)).toBe(isOurs);
  });

  it('is never ours while the profile names no place', () => {
    expect(isMadeBy({ id: '4711', request_id: ours }, claim, orderDetails)).toBe(false);
    expect(findRequestId({ request_id: ours }, [])).toBeUndefined();
  });
});
