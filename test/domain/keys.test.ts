import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import { forAny } from '../support/for-any.js';

describe('an account name', () => {
  it.each(['a', 'partner', 'acme-berlin-2', '-', '0', 'x'.repeat(40)])('may be %j', (name) => {
    expect(toAccountName(name)).toBe(name);
  });

  it.each([
    '',
    'Partner',
    'a b',
    'a_b',
    'a/b',
    'a.b',
    'ä',
    'a\n',
    ' a',
    'x'.repeat(41),
    7,
    null,
    undefined,
    ['a'],
    { toString: () => 'a' },
  ])('is not %j', (value) => {
    expect(() => toAccountName(value)).toThrow(InvalidInput);
  });

  it('is any text of 1 to 40 of a-z, 0-9 and "-", and nothing else', () => {
    forAny(fc.oneof(fc.string({ maxLength: 45 }), fc.stringMatching(/^[a-z0-9-]{0,42}$/)), (text) => {
      const isValid = text.length >= 1 && text.length <= 40 && [...text].every((c) => /[a-z0-9-]/.test(c));
      if (isValid) expect(toAccountName(text)).toBe(text);
      else expect(() => toAccountName(text)).toThrow(InvalidInput);
    });
  });
});

describe('an order id', () => {
  it.each([
    ['4711', '4711'],
    [4711, '4711'],
    [0, '0'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ['c0ffee-42', 'c0ffee-42'],
    ['with inner blank', 'with inner blank'],
    ['äö#?&%+', 'äö#?&%+'],
    ['x'.repeat(128), 'x'.repeat(128)],
  ])('may come as %j', (value, id) => {
    expect(toOrderId(value)).toBe(id);
  });

  it.each([
    '',
    'a/b',
    '/',
    ' a',
    'a ',
    '\u00a0a',
    'a\nb',
    'a\u0000',
    'a\u200bb',
    '\ud800',
    'x'.repeat(129),
    1.5,
    2 ** 53,
    Number.NaN,
    null,
    undefined,
    true,
    {},
    ['4711'],
    ...['.', '..'], // they would change the path of the request
  ])('is not %j', (value) => {
    expect(() => toOrderId(value)).toThrow(InvalidInput);
  });

  it('of digits is the same whether it came as a number or as text', () => {
    forAny(fc.maxSafeNat(), (id) => {
      expect(toOrderId(id)).toBe(toOrderId(String(id)));
    });
  });
});

describe('a refused key', () => {
  it.each([
    ['account', toAccountName],
    ['orderId', toOrderId],
  ] as const)('names the field %s, or the one it is told, and never repeats the value', (field, read) => {
    for (const value of ['SECRET/VALUE', `SECRET${'x'.repeat(200)}`]) {
      expect(() => read(value)).toThrow(new RegExp(`^${field}: `));
      expect(() => read(value, 'notify[2].order')).toThrow(/^notify\[2\]\.order: /);
      expect(() => read(value)).not.toThrow('SECRET');
    }
  });
});

describe('a scope', () => {
  it.each([
    ['', ''],
    ['   ', ''],
    ['order', 'order'],
    ['order finance', 'finance order'],
    ['finance+order', 'finance order'],
    [' order  order ', 'order'],
  ])('of %j is %j', (values, scope) => {
    expect(toScope(values)).toBe(scope);
  });

  it('is the same for one set of values in any order, and stays what it is', () => {
    forAny(fc.array(fc.stringMatching(/^[a-z._:]{1,8}$/), { maxLength: 5 }), (values) => {
      const scope = toScope(values.join(' '));
      expect(toScope([...values].reverse().join('+'))).toBe(scope);
      expect(toScope(scope)).toBe(scope);
      expect(new Set(scope.split(' ').filter(Boolean))).toEqual(new Set(values));
    });
  });
});
