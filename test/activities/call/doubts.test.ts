import { describe, expect, it } from 'vitest';
import type { BusinessOperation } from '../../../src/domain/call.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { callOf, createCallStage, refusal, reply, type Turn } from './attempts.js';

const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const unsent = () => new RideApiUnreachable('CONNECTION_REFUSED', 'https://business.example');
const withoutHeader = { operations: { createOrder: { requestIdHeader: '' } } };
const created = reply(201, { id: 'o-1' });
const order = (fields: object) => reply(200, { id: '4711', status: 'Reserved', ...fields });
const cancelled = order({ status: 'Cancelled' });
const create = callOf('createOrder');
const isUnknown = { type: 'OutcomeUnknown', nonRetryable: true };

/** A call that meets these turns, brought to its end: its last attempt, the failures on the way, and what was sent. */
async function played(call: ReturnType<typeof callOf>, turns: Turn[], overrides: unknown = {}) {
  const stage = createCallStage(turns, overrides);
  const attempts = await stage.run(call);
  const { result, failure } = attempts.at(-1) ?? {};
  const failures = attempts.flatMap((one) => one.failure?.type ?? []);
  return { result, failure, failures, sent: stage.requests.map(({ method }) => method).join(' ') };
}

describe('a create whose answer was lost', () => {
  it('is repeated under its request id as long as that helps', async () => {
    const { result, failures } = await played(create, [lost(), reply(500), unsent(), created]);
    expect(failures).toEqual(Array(3).fill('OutcomeUnknown'));
    expect(result).toMatchObject({ orderId: 'o-1' });
  });

  it('is no refusal when the repeat is refused: the first one may have been taken', async () => {
    const { failure } = await played(create, [lost(), refusal(409, 'DUPLICATE', 'Seen before.')]);
    expect(failure).toMatchObject(isUnknown);
    expect(failure?.details).toEqual([{ status: 409, code: 'DUPLICATE', message: 'Seen before.' }]);
  });

  it('is repeated after a worker died', async () => {
    const attempt = createCallStage([created]).attempt(create, { attempt: 2 });
    expect(await attempt).toMatchObject({ result: { orderId: 'o-1' } });
  });

  it.each([reply(201, {}), reply(202, {})])('is not failed when the answer names no order: %j', async (turn) => {
    const { failures, result } = await played(create, [turn, created]);
    expect(failures).toEqual(['OutcomeUnknown']);
    expect(result).toMatchObject({ orderId: 'o-1' });
  });
});

describe('a create, where the service knows no request ids,', () => {
  // What answered may not be what took it.
  it.each([lost(), reply(500), reply(503), reply(504)])('is never sent again after %j', async (turn) => {
    const { failure, sent } = await played(create, [turn], withoutHeader);
    expect(failure).toMatchObject(isUnknown);
    expect(sent).toBe('POST');
  });

  it.each([undefined, { inDoubt: true, hadDoubt: true, refusal: null }])(
    'is not sent after a worker died and left %j, since that attempt may have come far',
    async (heartbeatDetails) => {
      const stage = createCallStage([created], withoutHeader);
      expect((await stage.attempt(create, { attempt: 2, heartbeatDetails })).failure).toMatchObject(isUnknown);
      expect(stage.requests).toEqual([]);
    },
  );

  it('is not sent after a later attempt that left no word of itself, whatever the one before had left', async () => {
    const stage = createCallStage([reply(429), created], withoutHeader);
    const { heartbeat } = await stage.attempt(create);
    const cutOff = { attempt: 3, heartbeatDetails: heartbeat };
    expect((await stage.attempt(create, cutOff)).failure).toMatchObject(isUnknown);
    expect(stage.requests).toHaveLength(1);
  });

  it('is sent again after it surely was not taken', async () => {
    const { result, sent } = await played(create, [unsent(), reply(429), created], withoutHeader);
    expect(result).toMatchObject({ orderId: 'o-1' });
    expect(sent).toBe('POST POST POST');
  });
});

const wanted = { scheduled_at: '2031-05-01T12:00:00+02:00', note_to_driver: 'at the gate' };
const shown = { scheduled_at: '2031-05-01T10:00:00Z' };

describe('a cancellation or a change whose answer was lost', () => {
  it.each<[string, BusinessOperation, Turn[], string, object]>([
    [
      'is done when the order reads cancelled',
      'cancelOrder',
      [lost(), order({ status: 'canceled' })],
      'POST GET',
      { status: 200 },
    ],
    [
      'is sent again when the order still lives',
      'cancelOrder',
      [reply(500), order({}), reply(204)],
      'POST GET POST',
      { status: 204, body: null },
    ],
    [
      'is looked up while the order cannot be read, and not sent',
      'cancelOrder',
      [lost(), reply(503), cancelled],
      'POST GET GET',
      { status: 200 },
    ],
    [
      'is looked up after an unexpected status, and not sent again',
      'cancelOrder',
      [reply(202), cancelled],
      'POST GET',
      { status: 200 },
    ],
    [
      'is done when every field is as it was wanted',
      'updateOrder',
      [lost(), order({ ...wanted, ...shown })],
      'PATCH GET',
      { status: 200 },
    ],
    [
      'is sent again when a field is still the old one',
      'updateOrder',
      [lost(), order(shown), reply(204)],
      'PATCH GET PATCH',
      { status: 204 },
    ],
  ])('%s', async (_, operation, turns, methods, read) => {
    const { result, failures, sent } = await played(
      callOf(operation, operation === 'updateOrder' ? { body: wanted } : {}),
      turns,
    );
    expect(result).toMatchObject({ operation, ...read });
    expect(sent).toBe(methods);
    expect(failures, 'one request for each attempt').toHaveLength(turns.length - 1);
    expect(new Set(failures)).not.toContain('Refused');
  });

  it('is looked up after a later attempt that left no word of itself', async () => {
    const stage = createCallStage([reply(429), cancelled]);
    const { heartbeat } = await stage.attempt(callOf('cancelOrder'));
    const { result } = await stage.attempt(callOf('cancelOrder'), { attempt: 3, heartbeatDetails: heartbeat });
    expect(result).toMatchObject({ body: { status: 'Cancelled' } });
    expect(stage.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  it('counts when the repeat is refused because it had been carried out after all', async () => {
    const turns = [lost(), order({}), refusal(422, 'STATE', 'Too late.')];
    expect((await played(callOf('cancelOrder'), [...turns, cancelled])).result).toMatchObject({ status: 200 });
    const { failure } = await played(callOf('cancelOrder'), [...turns, order({ status: 'Driving' })]);
    expect(failure).toMatchObject({ type: 'Refused', details: [{ status: 422, code: 'STATE', message: 'Too late.' }] });
  });

  it('is unclear for good when the order may not be read', async () => {
    expect((await played(callOf('cancelOrder'), [lost(), reply(403)])).failure).toMatchObject(isUnknown);
  });
});

describe('reference codes', () => {
  const added = { id: 1, value: 'A1' };
  const taken = [0, 1].map((index) => ({ index, code: 'DUPLICATE' }));
  const partial = { has_errors: true, data: [added], errors: [{ index: 1, code: 'DUPLICATE', title: 'Taken' }] };
  const tooLong = { has_errors: true, data: [added], errors: [{ index: 1, code: 'TOO_LONG' }] };
  const both = ['A1', 'B2'].map((value) => ({ id: null, value }));

  it.each<[string, Turn[], object]>([
    ['that were added in part are a result, not a failure', [reply(200, partial)], partial],
    [
      'that a repeat finds there already count as added',
      [lost(), reply(200, { has_errors: true, data: [], errors: taken })],
      { has_errors: false, data: both, errors: [] },
    ],
    ['that are refused for another reason stay refused', [lost(), reply(200, tooLong)], tooLong],
  ])('%s', async (_, turns, body) => {
    expect((await played(callOf('addReferenceCode'), turns)).result).toMatchObject({ status: 200, body });
  });
});
