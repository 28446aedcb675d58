import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { businessOperations, parseBusinessCallInput } from '../../src/domain/call.js';
import { toAccountName } from '../../src/domain/keys.js';
import { businessCallId, fromBusinessCallId } from '../../src/domain/workflow-ids.js';

const shared = { account: 'business', key: 'trip-9' };
const complete = {
  companySettings: {},
  products: { body: {} },
  createOrder: { body: {} },
  orderDetails: { orderId: '1' },
  updateOrder: { orderId: '1', body: {} },
  cancelOrder: { orderId: '1' },
  addReferenceCode: { referenceFieldId: '7', body: [] },
  orderReceipt: { orderId: '1' },
} as const;

describe('the input of a business call', () => {
  it.each(businessOperations)('of %s is read as it is', (operation) => {
    const input = { ...shared, operation, ...complete[operation] };
    expect(parseBusinessCallInput(input)).toEqual(input);
  });

  it('may say null for what is not set, and numbers for ids', () => {
    const input = { ...shared, operation: 'orderDetails', orderId: 42, body: null, referenceFieldId: null };
    expect(parseBusinessCallInput(input)).toEqual({ ...shared, operation: 'orderDetails', orderId: '42' });
    const codes = { ...shared, operation: 'addReferenceCode', referenceFieldId: 7, body: [] };
    expect(parseBusinessCallInput(codes)).toMatchObject({ referenceFieldId: '7' });
  });

  it.each<[object, string]>([
    [{ operation: 'bookRide' }, 'operation: must be one of'],
    [{ operation: 'toString' }, 'operation: must be one of'],
    [{ operation: 'createOrder' }, 'body: createOrder needs it'],
    [{ operation: 'createOrder', body: {}, orderId: '1' }, 'orderId: createOrder has no use for it'],
    [{ operation: 'cancelOrder' }, 'orderId: cancelOrder needs it'],
    [{ operation: 'cancelOrder', orderId: 'a/b' }, 'orderId: must not hold'],
    [{ operation: 'addReferenceCode', body: [] }, 'referenceFieldId: addReferenceCode needs it'],
    [{ operation: 'companySettings', key: 'a/b' }, 'key: must be 1 to 100'],
    [{ operation: 'companySettings', key: undefined }, 'key: must be 1 to 100'],
    [{ operation: 'companySettings', account: 'A' }, 'account: must be'],
    [{ operation: 'companySettings', colour: 'red' }, 'unknown field "colour"'],
  ])('%j is refused: %s', (more, words) => {
    expect(() => parseBusinessCallInput({ ...shared, ...more })).toThrow(words);
  });
});

describe('the id of a business call', () => {
  it('is read back as what it was made of', () => {
    const keys = fc.record({
      account: fc.stringMatching(/^[a-z0-9-]{1,40}$/).map((name) => toAccountName(name)),
      operation: fc.constantFrom(...businessOperations),
      key: fc.stringMatching(/^[A-Za-z0-9._~-]{1,100}$/),
    });
    fc.assert(
      fc.property(keys, (key) => {
        expect(fromBusinessCallId(businessCallId(key))).toEqual(key);
      }),
    );
  });

  it('has the spelling that other programs rely on', () => {
    const key = { account: toAccountName('business'), operation: 'createOrder', key: 'trip-9' } as const;
    expect(businessCallId(key)).toBe('call/business/createOrder/trip-9');
  });

  it.each(['', 'call/business/createOrder', 'call/business/bookRide/1', 'call/business/createOrder/a/b', 'order/a/b'])(
    'is nothing else: %s',
    (id) => {
      expect(fromBusinessCallId(id)).toBeUndefined();
    },
  );
});
