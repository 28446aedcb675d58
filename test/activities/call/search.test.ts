import { describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { callOf, createCallStage, refusal, reply } from './attempts.js';

// The profile names a search, and an answer to a create is lost.

type Turns = Parameters<typeof createCallStage>[0];

const origin = 'https://business.example';
const lost = () => new RideApiUnreachable('CONNECTION_LOST', origin);
const garbled = (code: 'NOT_JSON' | 'TOO_DEEP') => new RideApiGarbled(code, origin, 200);
const create = callOf('createOrder', { requestId: 'ride.business.trip 1' });
const entry = { id: 'o-1', request_id: create.requestId, status: 'Pending' };
const found = reply(200, { orders: [{ id: 'o-0', request_id: 'other' }, entry] });
const none = reply(200, { orders: [] });
const searching = (more: object = {}) => ({ operations: { findOrder: { enabled: true }, createOrder: more } });

/** What was sent, in short, how it ended, and how long that took. */
async function played(turns: Turns, overrides: unknown = searching()) {
  const stage = createCallStage(turns, overrides);
  const attempts = await stage.run(create);
  const { seen: result, failure } = attempts.at(-1) ?? {};
  const sent = stage.requests.map(({ method }) => method);
  return { stage, attempts, result, failure, sent, elapsedMs: stage.elapsedMs() };
}

describe('a create whose answer was lost', () => {
  it.each([lost(), garbled('NOT_JSON'), reply(500), reply(503), reply(201, {}), reply(202, {})])(
    'is found by its request id, and not sent again: %s',
    async (turn) => {
      const { stage, result, sent } = await played([turn, found]);
      expect(sent).toEqual(['POST', 'GET']);
      expect(result).toEqual({ operation: 'createOrder', status: 200, body: entry, orderId: 'o-1' });
      const url = `${origin}/v1/orders?requestId=ride.business.trip%201&businessId=`;
      expect(stage.requests.at(-1)?.url).toContain(url);
      expect(stage.tokens.scopes).toEqual(['order', 'order']);
    },
  );

  it('is searched for again while the search lags, with pauses that grow', async () => {
    const { attempts, sent, result } = await played([lost(), none, none, reply(503), none, found]);
    expect(sent).toEqual(['POST', ...Array(5).fill('GET')]);
    expect(result).toMatchObject({ orderId: 'o-1' });
    const pauses = attempts.flatMap(({ failure }) => failure?.nextRetryDelay ?? []);
    expect(pauses).toEqual([1_000, 1_000, 2_000, 4_000]);
    expect(attempts[1]?.failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: false });
  });

  it('is unknown after two minutes in which no order was found, which proves nothing', async () => {
    const { failure, sent, elapsedMs } = await played([lost(), none]);
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
    expect(failure?.message).toMatch(/Searched for its order for 1\d\d s: no order with its request id was found\. Wh/);
    expect(elapsedMs).toBeGreaterThan(100_000);
    expect(elapsedMs).toBeLessThanOrEqual(122_000);
    expect(sent.filter((method) => method === 'POST')).toHaveLength(1);
    expect(sent.length).toBeLessThan(15);
  });

  it.each<[string, Turns[number], string]>([
    [
      'is refused by a path',
      refusal(404, 'NOT_FOUND', 'No.'),
      'operations.findOrder.path and operations.findOrder.method',
    ],
    ['is forbidden', refusal(403, 'FORBIDDEN', 'No.'), 'operations.findOrder.scope'],
    ['is no search', reply(405), 'operations.findOrder.path and operations.findOrder.method'],
    ['is redirected', reply(302), 'operations.findOrder.path'],
    ['has another success code', reply(206, { orders: [entry] }), 'operations.findOrder.success'],
    ['is an error in a success', refusal(200, 'X', 'No.'), 'operations.findOrder.path'],
    ['has no list', reply(200, { rides: [entry] }), 'pointers.findOrder.list'],
    ['is no JSON', garbled('NOT_JSON'), 'operations.findOrder.path'],
    ['is nested 5,000 deep', garbled('TOO_DEEP'), 'TOO_DEEP'],
    ['names no order id', reply(200, { orders: [{ request_id: create.requestId }] }), 'pointers.findOrder.orderId'],
    ['goes on', reply(200, { orders: [entry], next: '/x' }), 'operations.findOrder.path'],
    ['goes on in a header', reply(200, { orders: [entry] }, { link: '</v1/x?p=2>; rel="next"' }), 'findOrder.path'],
    [
      'finds several',
      reply(200, { orders: [entry, { ...entry, id: 'o-2' }] }),
      'several orders have its request id: o-1, o-2',
    ],
    ['gets no answer', lost(), 'CONNECTION_LOST'],
    ['is rejected with its token', reply(401), 'operations.findOrder'],
  ])('is unknown where the search %s, and the message says so', async (_, turn, words) => {
    const { failure, sent } = await played([lost(), turn]);
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
    expect(failure?.message).toContain(words);
    expect(failure?.message).toContain('Look at the service whether it was carried out');
    expect(failure?.message).not.toContain('by itself');
    expect(sent.filter((method) => method === 'POST')).toHaveLength(1);
  });

  it('is unknown at once where a wait would outlast the search', async () => {
    const { failure, elapsedMs } = await played([lost(), reply(429, undefined, { 'retry-after': '300' })]);
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
    expect(elapsedMs).toBeLessThan(2_000);
  });

  it('is found once the profile is repaired within the two minutes', async () => {
    expect((await played([lost(), reply(404), reply(403), found])).result).toMatchObject({ orderId: 'o-1' });
  });

  it.each([undefined, { inDoubt: true, hadDoubt: true, refusal: null, attempt: 1 }])(
    'is searched for by the next attempt after a worker died and left %j',
    async (heartbeatDetails) => {
      const stage = createCallStage([found], searching());
      expect((await stage.attempt(create, { attempt: 3, heartbeatDetails })).seen).toMatchObject({ orderId: 'o-1' });
      expect(stage.requests.map(({ method }) => method)).toEqual(['GET']);
    },
  );

  it('is searched for no longer after the death of a worker than without it', async () => {
    const stage = createCallStage([none], searching());
    const left = { inDoubt: true, hadDoubt: true, refusal: null, searchedSince: Date.parse('2031-05-01T09:58:01Z') };
    const about = { attempt: 9, heartbeatDetails: { ...left, attempt: 7 } };
    expect((await stage.attempt(create, about)).failure).toMatchObject({ nonRetryable: true });
  });

  it('is not searched for where its repeat is safe, nor where the search is off', async () => {
    const { sent } = await played([lost(), reply(201, { id: 'o-1' })], searching({ repeatable: true }));
    expect(sent).toEqual(['POST', 'POST']);
    expect((await played([lost(), found], {})).sent).toEqual(['POST']);
  });

  it('is not searched for where the service surely refused it', async () => {
    const { failure, sent } = await played([refusal(422, 'RULE', 'No.'), found]);
    expect(failure).toMatchObject({ type: 'Refused', nonRetryable: true });
    expect(sent).toEqual(['POST']);
  });
});

describe('an order that a delivery names', () => {
  const claim = { account: toAccountName('business'), orderId: toOrderId('o-1'), requestId: 'trip 1' };
  const naming = { pointers: { orderDetails: { requestId: ['/request_id'] } } };

  it.each([
    [true, reply(200, entry)],
    [false, reply(200, { ...entry, request_id: 'another' })],
    [false, reply(200, { ...entry, id: 'o-2' })],
  ])('is ours: %s, where the service answers %j', async (isOurs, turn) => {
    const stage = createCallStage([turn], naming);
    expect((await stage.confirm(claim)).seen).toBe(isOurs);
    expect(stage.requests).toMatchObject([{ method: 'GET', url: expect.stringContaining('/v1/orders/o-1?') }]);
  });

  it('is not read while the profile names no place for the request id', async () => {
    const stage = createCallStage([reply(200, entry)]);
    expect((await stage.confirm(claim)).seen).toBe(false);
    expect(stage.requests).toEqual([]);
  });

  it.each([
    [404, 'OrderNotFound', true],
    [503, 'Unavailable', false],
  ])('fails to be read with %i as any call', async (status, type, nonRetryable) => {
    const { failure } = await createCallStage([reply(status)], naming).confirm(claim);
    expect(failure).toMatchObject({ type, nonRetryable });
  });
});
