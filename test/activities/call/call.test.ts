import { describe, expect, it } from 'vitest';
import { TokenUnavailable } from '../../../src/activities/token.js';
import { nothingSent } from '../../../src/domain/call.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { callOf, createCallStage, newOrder, refusal, reply } from './attempts.js';

const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const inDoubt = { ...nothingSent, sent: 'unknown', isReadFirst: true } as const;
const once = { retryPolicy: { maximumAttempts: 1 } };
const answer = reply(200, { id: 'o-1', status: 'Pending' });

describe('a call', () => {
  it('each attempt of a create sends the same request id in the header that the profile names', async () => {
    const stage = createCallStage([lost(), reply(503), answer], { operations: { createOrder: { repeatable: true } } });
    expect((await stage.run(callOf('createOrder'))).at(-1)?.seen).toMatchObject({ orderId: 'o-1' });
    expect(stage.requests.map(({ headers }) => headers['X-Request-ID'])).toEqual(Array(3).fill('call/business/x/1'));
    expect(new Set(stage.requests.map(({ body }) => body)).size).toBe(1);
  });

  it.each([429, 503])('an account sends no call until Retry-After of a %i is over', async (status) => {
    const stage = createCallStage([reply(status, undefined, { 'retry-after': '7' })]);
    const message = expect.stringContaining('Nothing is sent until 2031-05-01 10:00:07 UTC');
    const waits = { type: 'Unavailable', nonRetryable: false, nextRetryDelay: 7_000, message };
    for (const operation of ['products', 'createOrder'] as const)
      expect((await stage.attempt(callOf(operation))).failure).toMatchObject(waits);
    expect(stage.requests).toHaveLength(1);
  });

  it.each([
    [1, '0', 1_000],
    [4, '0', 8_000],
    [4, '7', 8_000],
    [4, '9', 9_000],
    [20, '0', 30_000],
    [20, '86400', 600_000],
  ])('attempt %i waits for Retry-After %s or its own longer pause: %i ms', async (attempt, wish, waitMs) => {
    const stage = createCallStage([reply(503, undefined, { 'retry-after': wish })]);
    const { failure } = await stage.attempt(callOf('products'), attempt);
    expect(failure).toMatchObject({ type: 'Unavailable', nextRetryDelay: waitMs });
  });

  it.each([
    ['a read', callOf('products'), nothingSent, {}, 4_000],
    ['a read of what a change did', callOf('cancelOrder'), inDoubt, {}, 4_000],
    ['a read of release 0.2.0, whose run repeats it', callOf('products'), nothingSent, once, null],
    ['a change', callOf('cancelOrder'), nothingSent, once, null],
    ['a create that an operator allowed more attempts', callOf('createOrder'), nothingSent, {}, null],
  ] as const)(
    'an attempt that the service turns away fails for Temporal only if it reads: %s',
    async (_, call, before, info, delayMs) => {
      const stage = createCallStage([reply(503)]);
      stage.info = { attempt: 3, ...info };
      const { end, thrown } = await stage.change(call, before);
      expect(thrown?.nextRetryDelay ?? null).toBe(delayMs);
      expect(end).toMatchObject({ kind: 'failed' });
    },
  );
});

it.each([
  [404, 'orderDetails', 'OrderNotFound'],
  [404, 'cancelOrder', 'OrderNotFound'],
  [404, 'addReferenceCode', 'Refused'],
  [404, 'createOrder', 'Refused'],
  [403, 'products', 'Forbidden'],
  [400, 'createOrder', 'Refused'],
  [402, 'createOrder', 'Refused'],
  [409, 'updateOrder', 'Refused'],
  [422, 'cancelOrder', 'Refused'],
  [401, 'createOrder', 'CredentialsRejected'],
  [200, 'products', 'Refused'], // the answer calls itself a success
] as const)('HTTP %i to %s, with a refusal, fails the call for good as %s', async (status, operation, type) => {
  const stage = createCallStage([refusal(status, 'SOME_RULE', 'This cannot be.')]);
  const { failure } = await stage.attempt(callOf(operation));
  expect(failure).toMatchObject({ type, nonRetryable: true });
  expect(failure?.details).toEqual([{ status, code: 'SOME_RULE', message: 'This cannot be.' }]);
  expect(failure?.message).toContain('SOME_RULE');
  expect(failure?.message).not.toContain('This cannot be.');
});

it.each([
  [404, 'addReferenceCode', 'operations.addReferenceCode.path and operations.addReferenceCode.method'],
  [405, 'createOrder', 'operations.createOrder.path and operations.createOrder.method'],
  [302, 'products', 'operations.products.path'],
  [403, 'cancelOrder', 'operations.cancelOrder.scope'],
  [404, 'cancelOrder', 'operations.cancelOrder.path'],
] as const)('HTTP %i to %s without a word of the service names %s', async (status, operation, field) => {
  const { failure } = await createCallStage([reply(status)]).attempt(callOf(operation));
  expect(failure?.message).toContain(field);
});

it('a call without a token fails with the words of the lease, for good unless they name an outage or tokens that are rejected', async () => {
  const stage = createCallStage([]);
  stage.tokens.get = () => Promise.reject(new TokenUnavailable('scopeRejected', 'Not granted.', 60_000));
  const message = expect.stringContaining('Not granted.');
  const { failure: refused } = await stage.attempt(callOf('orderReceipt'));
  expect(refused).toMatchObject({ type: 'CredentialsRejected', nonRetryable: true, message });
  stage.tokens.get = () => Promise.reject(new TokenUnavailable('upstreamUnavailable', 'Wait.', 5_000));
  const { failure } = await stage.attempt(callOf('orderReceipt'));
  expect(failure).toMatchObject({ type: 'Unavailable', nonRetryable: false, nextRetryDelay: 5_000 });
  stage.tokens.get = () => Promise.reject(new TokenUnavailable('credentialsRejected', 'Rejected early.', 5_000, true));
  const { failure: paced } = await stage.attempt(callOf('createOrder'));
  expect(paced).toMatchObject({ type: 'CredentialsRejected', nonRetryable: false, nextRetryDelay: 5_000 });
});

it.each([
  [callOf('createOrder', { body: { ...newOrder, stops: [] } }), 'body.stops: must hold at least one stop'],
  [callOf('createOrder', { account: toAccountName('partner') }), 'not an operation of the partner interface'],
  [callOf('products'), 'switches this operation off'],
])('a call that cannot be made asks for no token: $1', async (call, words) => {
  const message = expect.stringContaining(words);
  const stage = createCallStage([], { operations: { products: { enabled: false } } });
  const { failure } = await stage.attempt(call);
  expect(failure).toMatchObject({ type: 'InvalidInput', nonRetryable: true, message });
  expect(stage.tokens.scopes).toEqual([]);
});

describe('a read', () => {
  const broken = [lost(), reply(500), new RideApiGarbled('NOT_JSON', 'https://business.example', 200)];
  it.each(broken)('a read is repeated after %s', async (turn) => {
    const [first, second] = await createCallStage([turn, answer]).run(callOf('orderDetails'));
    expect(first?.failure).toMatchObject({ type: 'Unavailable', nonRetryable: false });
    expect(second?.seen).toMatchObject({ status: 200 });
  });

  it('without payload encryption a refusal lacks the words of the service', async () => {
    const stage = createCallStage([refusal(422, 'SOME_RULE', 'Not for A. Rider.')], {}, { keepsPersonalData: false });
    const { failure } = await stage.attempt(callOf('orderDetails'));
    expect(failure?.details).toEqual([{ status: 422, code: 'SOME_RULE', message: null }]);
  });
});
