import { describe, expect, it } from 'vitest';
import { TokenUnavailable } from '../../../src/activities/token-source.js';
import { type BusinessOperation, businessOperations } from '../../../src/domain/call.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { start } from '../attempts.js';
import { callOf, createCallStage, newOrder, refusal, reply } from './attempts.js';

const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const answer = reply(200, { id: 'o-1', status: 'Pending' });

describe('a call', () => {
  const scopes: Record<BusinessOperation, string> = {
    companySettings: 'order',
    products: 'order',
    createOrder: 'order',
    orderDetails: 'order',
    updateOrder: 'order',
    cancelOrder: 'order',
    addReferenceCode: 'company.reference',
    orderReceipt: 'finance',
  };
  it.each(businessOperations)('of %s is one request under the scope it needs', async (operation) => {
    const stage = createCallStage([answer]);
    const { result } = await stage.attempt(callOf(operation));
    expect(result).toMatchObject({ operation, status: 200, body: { id: 'o-1', status: 'Pending' } });
    expect(stage.scopes).toEqual([scopes[operation]]);
    expect(stage.requests).toHaveLength(1);
  });

  it('gives a null body where the answer has none', async () => {
    const { result } = await createCallStage([reply(204)]).attempt(callOf('cancelOrder'));
    expect(result).toEqual({ operation: 'cancelOrder', status: 204, body: null });
  });

  it('gives the id of the created order, whatever form it has', async () => {
    const stage = createCallStage([reply(201, { data: { order: { id: 42 } } })]);
    const { result } = await stage.attempt(callOf('createOrder'));
    expect(result).toMatchObject({ orderId: '42' });
  });

  it('sends a request id in the header that the profile names, the same each time', async () => {
    const stage = createCallStage([lost(), reply(503), answer]);
    expect((await stage.run(callOf('createOrder'))).at(-1)?.result).toMatchObject({ orderId: 'o-1' });
    expect(stage.requests.map(({ headers }) => headers['X-Request-ID'])).toEqual(Array(3).fill('call/business/x/1'));
    expect(new Set(stage.requests.map(({ body }) => body)).size).toBe(1);
  });

  it('is repeated once with another token after a 401, and then fails', async () => {
    const stage = createCallStage([reply(401), answer]);
    expect(await stage.attempt(callOf('createOrder'))).toMatchObject({ result: { orderId: 'o-1' } });
    const { failure } = await createCallStage([reply(401), reply(401)]).attempt(callOf('createOrder'));
    expect(failure).toMatchObject({ type: 'CredentialsRejected', nonRetryable: true });
  });

  it.each([429, 503])('waits as long as the service asks for: %i', async (status) => {
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
  ])('waits in attempt %i, asked to wait %s s, as long as that and as its own pause', async (attempt, wish, waitMs) => {
    const stage = createCallStage([reply(503, undefined, { 'retry-after': wish })]);
    const { failure } = await stage.attempt(callOf('products'), { attempt });
    expect(failure).toMatchObject({ type: 'Unavailable', nextRetryDelay: waitMs });
    expect(failure?.stack, 'Temporal would keep it').toBe('');
  });
});

describe('what is refused comes back typed', () => {
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
  ] as const)('%i of %s: %s', async (status, operation, type) => {
    const stage = createCallStage([refusal(status, 'SOME_RULE', 'This cannot be.')]);
    const { failure } = await stage.attempt(callOf(operation));
    expect(failure).toMatchObject({ type, nonRetryable: true });
    expect(failure?.details).toEqual([{ status, code: 'SOME_RULE', message: 'This cannot be.' }]);
    expect(failure?.message).toContain('SOME_RULE');
    expect(failure?.message).not.toContain('This cannot be.');
  });

  it.each([
    ['a phone number', 'Number +1 (555) 000-1111 is blocked.'],
    ['the token', 'Who is very secret & odd+value?'],
  ])('but never with a message that repeats %s', async (_, message) => {
    const { failure } = await createCallStage([refusal(422, 'BLOCKED', message)]).attempt(callOf('createOrder'));
    expect(failure?.details).toEqual([{ status: 422, code: 'BLOCKED', message: null }]);
  });

  it('also in an answer that calls itself a success', async () => {
    const { failure } = await createCallStage([refusal(200, 'NO', 'No.')]).attempt(callOf('createOrder'));
    expect(failure).toMatchObject({ type: 'Refused', nonRetryable: true });
  });

  it('when there is no token to be had, with the words of the lease', async () => {
    const stage = createCallStage([]);
    stage.tokenFailure = new TokenUnavailable('scopeRejected', 'Scope not granted.', start + 60_000);
    const refused = (await stage.attempt(callOf('orderReceipt'))).failure;
    expect(refused).toMatchObject({ type: 'CredentialsRejected', nonRetryable: true });
    expect(refused?.message).toContain('Scope not granted.');
    stage.tokenFailure = new TokenUnavailable('upstreamUnavailable', 'Wait.', start + 5_000);
    const { failure } = await stage.attempt(callOf('orderReceipt'));
    expect(failure).toMatchObject({ type: 'Unavailable', nonRetryable: false, nextRetryDelay: 5_000 });
  });

  it.each([
    [callOf('createOrder', { body: { ...newOrder, stops: [] } }), 'body.stops: must hold at least one stop'],
    [callOf('createOrder', { account: toAccountName('partner') }), 'not an operation of the partner interface'],
    [callOf('products'), 'switches this operation off'],
  ])('before anything is sent or a token is asked for', async (call, message) => {
    const stage = createCallStage([], { operations: { products: { enabled: false } } });
    const { failure } = await stage.attempt(call);
    expect(failure).toMatchObject({ type: 'InvalidInput', nonRetryable: true });
    expect(failure?.message).toContain(message);
    expect(stage.scopes).toEqual([]);
  });
});

describe('a read', () => {
  const unclear = [lost(), reply(500), new RideApiGarbled('NOT_JSON', 'https://business.example', 200)];
  it.each(unclear)('is repeated after %s, and no doubt comes of it', async (turn) => {
    const [first, second] = await createCallStage([turn, answer]).run(callOf('orderDetails'));
    expect(first?.failure).toMatchObject({ type: 'Unavailable', nonRetryable: false });
    expect(second?.result).toMatchObject({ status: 200 });
  });

  it('leaves out who the driver is', async () => {
    const driver = { name: 'D. Driver', phone: '1', image_url: 'x', rating: 5, vehicle: { model: 'M', plate: 'B 1' } };
    const stage = createCallStage([reply(200, { supplier: { name: 'S', driver } })]);
    const { result } = await stage.attempt(callOf('orderDetails'));
    expect(result?.body).toEqual({ supplier: { name: 'S', driver: { rating: 5, vehicle: { model: 'M' } } } });
  });
});
