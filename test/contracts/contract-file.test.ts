import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultContractProfile,
  overridesOf,
  parseContractProfile,
} from '../../src/contracts/default-contract-profile.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { forAny } from '../support/for-any.js';

function problemsOf(overrides: unknown): string {
  try {
    parseContractProfile(overrides);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInput);
    return (error as InvalidInput).message;
  }
  return 'none';
}

it('the default profile says of each operation where its method and path come from', () => {
  const names = (wanted: string) =>
    Object.entries(defaultContractProfile.operations).flatMap(([name, { source }]) => (source === wanted ? name : []));
  expect(names('given')).toEqual(['orderStatus', 'createSubscriber']);
  expect(names('assumed')).toEqual(['companySettings', 'listSubscribers', 'deleteSubscriber']);
  expect(names('verified')).toEqual([]);
  expect(names('published')).toEqual(
    expect.arrayContaining(['addReferenceCode', 'cancelOrder', 'createOrder', 'orderDetails', 'orderReceipt']),
  );
  // Published is no proof where money is concerned.
  expect(defaultContractProfile.operations.createOrder).toMatchObject({ source: 'published', repeatable: false });
});

describe('a contract file', () => {
  it('changes the scalar, array or verification that it names, the last two as a whole, and nothing beside it', () => {
    const path = '/v2/rides/{order_id}';
    const verification = { mode: 'hmac', header: 'x-signature' } as const;
    const defaults = { algorithm: 'sha256', encoding: 'hex', prefix: '', over: 'received' } as const;
    const expected = structuredClone(defaultContractProfile);
    const before = structuredClone(expected);
    expect(parseContractProfile({})).toEqual(expected);
    expected.operations.orderDetails.path = path;
    expected.statuses.terminal = ['Done'];
    expected.delivery.verification = { ...verification, ...defaults };
    const overrides = { operations: { orderDetails: { path } }, statuses: { terminal: ['Done'] } };
    expect(parseContractProfile({ ...overrides, delivery: { verification } })).toEqual(expected);
    expect(defaultContractProfile).toEqual(before);
    expect(problemsOf({ delivery: { verification: {} } })).toContain('delivery.verification.mode');
    const gone = { delivery: { verification: { mode: 'header', name: 'x' } } };
    expect(problemsOf(gone)).toContain('delivery.verification.mode: must be signed, hmac or path; remove');
  });

  it('has every bad field listed by its path', () => {
    const problems = problemsOf({
      operations: { orderStatus: { method: 'FETCH', speed: 1 }, orderReceipt: { path: '/v1/{receipt}' }, teleport: {} },
      pointers: { delivery: { status: [] } },
      tokens: null,
      limits: { requestsPerSecond: 'many' },
    });
    expect(problems).toContain('operations.orderStatus.method: ');
    expect(problems).toContain('operations.orderStatus.speed: unknown field');
    expect(problems).toContain('operations.orderReceipt.path: unknown placeholder {receipt}');
    expect(problems).toContain('operations.teleport: unknown field');
    for (const field of ['pointers.delivery.status', 'tokens', 'limits.requestsPerSecond'])
      expect(problems).toContain(`${field}: `);
  });

  it.each([
    ['v1/orders/{order_id}', 'path'],
    ['/v1/orders', 'must hold {order_id}'],
    ['/v1/{order_id', 'brace'],
    ['/v1/{order_id}/}', 'brace'],
    ['/v1/{order_id}/{}', 'unknown placeholder {}'],
    ['/v1/{order_id}/{constructor}', 'unknown placeholder {constructor}'],
    ['/v1/{order_id}#part', 'blanks'],
    ['/v1/{order_id} HTTP/1.1', 'blanks'],
  ])('is refused with the path %s', (path, problem) => {
    const problems = problemsOf({ operations: { orderDetails: { path } } });
    expect(problems).toContain('operations.orderDetails.path');
    expect(problems).toContain(problem);
  });

  it.each([
    ['orderDetails', { repeatable: true }, 'means something to createOrder alone'],
    ['createOrder', { repeatable: true, requestIdHeader: '' }, 'must not be true without a requestIdHeader'],
    ['createOrder', { repeatable: 'yes' }, 'expected boolean'],
  ])('is refused where %s is %j', (operation, fields, problem) => {
    expect(problemsOf({ operations: { [operation]: fields } })).toContain(`operations.${operation}.repeatable: `);
    expect(problemsOf({ operations: { [operation]: fields } })).toContain(problem);
  });

  it.each([undefined, null, [], 'text', 7])('is refused when it holds %j instead of an object', (overrides) => {
    expect(problemsOf(overrides)).toContain('must be a JSON object');
  });

  it.each(['__proto__', 'constructor', 'prototype'])('cannot reach into other objects by the key %s', (key) => {
    const overrides = JSON.parse(`{"${key}":{"polluted":true},"operations":{"${key}":{"polluted":true}}}`);
    expect(problemsOf(overrides)).toContain(`operations.${key}: unknown field; ${key}: unknown field`);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((defaultContractProfile as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('of any JSON gives a profile or InvalidInput', () => {
    const part = fc.dictionary(fc.constantFrom('operations', 'pointers', 'delivery', 'tokens'), fc.jsonValue());
    forAny(fc.oneof(fc.jsonValue(), part), (overrides) => void problemsOf(overrides));
  });
});

describe('the overrides of a profile', () => {
  it.each([
    ['nothing', {}],
    [
      'a path and an operation that is switched on',
      { operations: { orderDetails: { path: '/x/{order_id}' }, listSubscribers: { enabled: true } } },
    ],
    ['pointers', { pointers: { orderStatus: { status: ['/a'] } } }],
    ['a verified operation', { operations: { orderStatus: { source: 'verified', verifiedOn: '2026-05-01' } } }],
    ['a verification as a whole', { delivery: { verification: { mode: 'path' } } }],
  ])('are the file again that changed %s', (_, file) => {
    expect(overridesOf(parseContractProfile(file))).toEqual(file);
  });
});
