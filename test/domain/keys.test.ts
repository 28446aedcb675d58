import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actsForCompany, rideInterfaces } from '../../src/domain/account.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import { toDeliveryId } from '../../src/domain/parked.js';
import { toRideRequestId } from '../../src/domain/ride/input.js';
import { eventTypes, mustNameOrder } from '../../src/domain/subscription/subscription.js';
import { forAny } from '../support/for-any.js';

it('an account name is any text of 1 to 40 of a-z, 0-9 and "-", and nothing else', () => {
  const noTexts = [7, null, undefined, ['a'], { toString: () => 'a' }];
  for (const value of ['', 'x'.repeat(41), 'Partner', 'a/b', 'ä', 'a\n', ' a', ...noTexts])
    expect(() => toAccountName(value)).toThrow(InvalidInput);
  forAny(fc.oneof(fc.string({ maxLength: 45 }), fc.stringMatching(/^[a-z0-9-]{0,42}$/)), (text) => {
    const isValid = text.length >= 1 && text.length <= 40 && [...text].every((c) => /[a-z0-9-]/.test(c));
    if (isValid) expect(toAccountName(text)).toBe(text);
    else expect(() => toAccountName(text)).toThrow(InvalidInput);
  });
});

it('only an account at the business interface acts for a company, and only a change of status must name an order', () => {
  expect(rideInterfaces.filter((one) => actsForCompany[one])).toEqual(['business']);
  expect(eventTypes.filter((one) => mustNameOrder[one])).toEqual(['status_changed']);
});

describe('an order id', () => {
  it.each(['4711', 'c0ffee-42', 'with inner blank', 'äö#?&%+', 'x'.repeat(128)])('may be the text %j', (id) => {
    expect(toOrderId(id)).toBe(id);
  });

  it('may be a whole number, which counts as the text of its digits', () => {
    for (const id of [0, Number.MAX_SAFE_INTEGER]) expect(toOrderId(id)).toBe(`${id}`);
    forAny(fc.maxSafeNat(), (id) => void expect(toOrderId(id)).toBe(`${id}`));
  });

  const hardToRead = [' a', 'a ', '\u00a0a', 'a\nb', 'a\u0000', 'a\u200bb', '\ud800'];
  const changesAPath = ['a/b', '/', '.', '..'];
  const noIds = ['', 'x'.repeat(129), 1.5, 2 ** 53, Number.NaN, null, undefined, true, {}, ['4711']];
  it.each([...hardToRead, ...changesAPath, ...noIds])('is not %j', (value) => {
    expect(() => toOrderId(value)).toThrow(InvalidInput);
  });
});

it('an id of a delivery or of a ride is refused under its name', () => {
  expect([toDeliveryId('0f'.repeat(16)), toRideRequestId('trip-9')]).toEqual(['0f'.repeat(16), 'trip-9']);
  for (const id of ['0f', `0${'0f'.repeat(16)}`, `${'0f'.repeat(16)}0`])
    expect(() => toDeliveryId(id)).toThrow(/^deliveryId: /);
  expect(() => toRideRequestId('a/b')).toThrow(/^requestId: /);
});

describe('a scope', () => {
  it('is the same for one set of values in any order, and stays what it is', () => {
    expect([' order  finance ', '   '].map((values) => toScope(values))).toEqual(['finance order', '']);
    forAny(fc.array(fc.stringMatching(/^[a-z._:]{1,8}$/), { maxLength: 5 }), (values) => {
      const scope = toScope(values.join(' '));
      expect(toScope([...values].reverse().join('+'))).toBe(scope);
      expect(toScope(scope)).toBe(scope);
      expect(new Set(scope.split(' ').filter(Boolean))).toEqual(new Set(values));
    });
  });
});
