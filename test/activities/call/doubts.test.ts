import { describe, expect, it } from 'vitest';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { callOf, createCallStage, refusal, reply } from './attempts.js';

const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const unsent = () => new RideApiUnreachable('CONNECTION_REFUSED', 'https://business.example');
const withoutHeader = { operations: { createOrder: { requestIdHeader: '' } } };
const created = reply(201, { id: 'o-1' });
const order = (fields: object) => reply(200, { id: '4711', status: 'Reserved', ...fields });
const methodsOf = ({ requests }: ReturnType<typeof createCallStage>) => requests.map(({ method }) => method);

describe('a create whose answer was lost', () => {
  it('is repeated under its request id as long as that helps', async () => {
    const stage = createCallStage([lost(), reply(500), unsent(), created]);
    const attempts = await stage.run(callOf('createOrder'));
    expect(attempts.map(({ failure }) => failure?.type)).toEqual([...Array(3).fill('OutcomeUnknown'), undefined]);
  });

  it('is no refusal when the repeat is refused: the first one may have been taken', async () => {
    const stage = createCallStage([lost(), refusal(409, 'DUPLICATE', 'Seen before.')]);
    const last = (await stage.run(callOf('createOrder'))).at(-1)?.failure;
    expect(last).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
    expect(last?.details).toEqual([{ status: 409, code: 'DUPLICATE', message: 'Seen before.' }]);
  });

  it('is repeated after a worker died', async () => {
    const stage = createCallStage([created]);
    expect(await stage.attempt(callOf('createOrder'), { attempt: 2 })).toMatchObject({ result: { orderId: 'o-1' } });
  });

  it.each([reply(201, {}), reply(202, {})])('is not failed when the answer names no order: %j', async (turn) => {
    const stage = createCallStage([turn, created]);
    const [first, second] = await stage.run(callOf('createOrder'));
    expect(first?.failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: false });
    expect(second?.result).toMatchObject({ orderId: 'o-1' });
  });

  describe('where the service knows no request ids', () => {
    it('is never sent again', async () => {
      const stage = createCallStage([lost()], withoutHeader);
      const [only] = await stage.run(callOf('createOrder'));
      expect(only?.failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
      expect(stage.requests).toHaveLength(1);
    });

    it.each([500, 503, 504])('is not sent again after %i: what answered may not be what took it', async (status) => {
      const stage = createCallStage([reply(status)], withoutHeader);
      expect((await stage.run(callOf('createOrder')))[0]?.failure).toMatchObject({ type: 'OutcomeUnknown' });
      expect(stage.requests).toHaveLength(1);
    });

    it('is not sent after a worker died in an attempt, since nobody knows how far that came', async () => {
      for (const heartbeatDetails of [undefined, { inDoubt: true, hadDoubt: true, refusal: null }]) {
        const stage = createCallStage([created], withoutHeader);
        const { failure } = await stage.attempt(callOf('createOrder'), { attempt: 2, heartbeatDetails });
        expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
        expect(stage.requests).toEqual([]);
      }
    });

    it('is not sent after a later attempt that left no word of itself, whatever the one before had left', async () => {
      const stage = createCallStage([reply(429), created], withoutHeader);
      const { heartbeat } = await stage.attempt(callOf('createOrder'));
      const cutOff = { attempt: 3, heartbeatDetails: heartbeat };
      const { failure } = await stage.attempt(callOf('createOrder'), cutOff);
      expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
      expect(stage.requests).toHaveLength(1);
    });

    it('is sent again after it surely was not taken', async () => {
      const stage = createCallStage([unsent(), reply(429), created], withoutHeader);
      expect((await stage.run(callOf('createOrder'))).at(-1)?.result).toMatchObject({ orderId: 'o-1' });
      expect(stage.requests).toHaveLength(3);
    });
  });
});

describe('a cancellation whose answer was lost', () => {
  it('is done when the order reads cancelled', async () => {
    const stage = createCallStage([lost(), order({ status: 'canceled' })]);
    const { result } = (await stage.run(callOf('cancelOrder'))).at(-1) ?? {};
    expect(result).toMatchObject({ operation: 'cancelOrder', status: 200, body: { status: 'canceled' } });
    expect(methodsOf(stage)).toEqual(['POST', 'GET']);
  });

  it('is sent again when the order still lives, one request for each attempt', async () => {
    const stage = createCallStage([reply(500), order({}), reply(204)]);
    const attempts = await stage.run(callOf('cancelOrder'));
    expect(attempts).toHaveLength(3);
    expect(attempts.at(-1)?.result).toEqual({ operation: 'cancelOrder', status: 204, body: null });
    expect(methodsOf(stage)).toEqual(['POST', 'GET', 'POST']);
  });

  it('is looked up after a later attempt that left no word of itself', async () => {
    const stage = createCallStage([reply(429), order({ status: 'Cancelled' })]);
    const { heartbeat } = await stage.attempt(callOf('cancelOrder'));
    const { result } = await stage.attempt(callOf('cancelOrder'), { attempt: 3, heartbeatDetails: heartbeat });
    expect(result).toMatchObject({ body: { status: 'Cancelled' } });
    expect(methodsOf(stage)).toEqual(['POST', 'GET']);
  });

  it('counts when the repeat is refused because it had been carried out after all', async () => {
    const refused = refusal(422, 'STATE', 'Too late.');
    const late = createCallStage([lost(), order({}), refused, order({ status: 'Cancelled' })]);
    expect((await late.run(callOf('cancelOrder'))).at(-1)?.result).toMatchObject({ status: 200 });
    const never = createCallStage([lost(), order({}), refused, order({ status: 'Driving' })]);
    const { failure } = (await never.run(callOf('cancelOrder'))).at(-1) ?? {};
    expect(failure).toMatchObject({ type: 'Refused', details: [{ status: 422, code: 'STATE', message: 'Too late.' }] });
  });

  it('stays unclear while the order cannot be read, and is not sent meanwhile', async () => {
    const stage = createCallStage([lost(), reply(503), order({ status: 'Cancelled' })]);
    const attempts = await stage.run(callOf('cancelOrder'));
    expect(attempts.map(({ failure }) => failure?.type)).toEqual(['OutcomeUnknown', 'OutcomeUnknown', undefined]);
    expect(methodsOf(stage)).toEqual(['POST', 'GET', 'GET']);
  });

  it('is unclear for good when the order may not be read', async () => {
    const stage = createCallStage([lost(), reply(403)]);
    const { failure } = (await stage.run(callOf('cancelOrder'))).at(-1) ?? {};
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', nonRetryable: true });
  });

  it('under a status nobody agreed on is looked up, not sent again', async () => {
    const stage = createCallStage([reply(202), order({ status: 'Cancelled' })]);
    expect((await stage.run(callOf('cancelOrder'))).at(-1)?.result).toMatchObject({ status: 200 });
    expect(methodsOf(stage)).toEqual(['POST', 'GET']);
  });
});

describe('a change whose answer was lost', () => {
  const body = { scheduled_at: '2031-05-01T12:00:00+02:00', note_to_driver: 'at the gate' };

  it('is done when the order shows every field as it was wanted', async () => {
    const stage = createCallStage([
      lost(),
      order({ scheduled_at: '2031-05-01T10:00:00Z', note_to_driver: 'at the gate' }),
    ]);
    expect((await stage.run(callOf('updateOrder', { body }))).at(-1)?.result).toMatchObject({ status: 200 });
    expect(methodsOf(stage)).toEqual(['PATCH', 'GET']);
  });

  it('is sent again when a field is still the old one', async () => {
    const stage = createCallStage([lost(), order({ scheduled_at: '2031-05-01T10:00:00Z' }), reply(204)]);
    expect((await stage.run(callOf('updateOrder', { body }))).at(-1)?.result).toMatchObject({ status: 204 });
    expect(methodsOf(stage)).toEqual(['PATCH', 'GET', 'PATCH']);
  });
});

describe('reference codes', () => {
  const partial = {
    has_errors: true,
    data: [{ id: 1, value: 'A1' }],
    errors: [{ index: 1, code: 'DUPLICATE', title: 'Taken' }],
  };

  it('that were added in part are a result, not a failure', async () => {
    const [only] = await createCallStage([reply(200, partial)]).run(callOf('addReferenceCode'));
    expect(only?.result).toMatchObject({ status: 200, body: partial });
  });

  it('that a repeat finds there already count as added', async () => {
    const both = { has_errors: true, data: [], errors: [0, 1].map((index) => ({ index, code: 'DUPLICATE' })) };
    const stage = createCallStage([lost(), reply(200, both)]);
    expect((await stage.run(callOf('addReferenceCode'))).at(-1)?.result?.body).toEqual({
      has_errors: false,
      data: [
        { id: null, value: 'A1' },
        { id: null, value: 'B2' },
      ],
      errors: [],
    });
  });

  it('that are refused for another reason stay refused', async () => {
    const mixed = { has_errors: true, data: [{ id: 1, value: 'A1' }], errors: [{ index: 1, code: 'TOO_LONG' }] };
    const stage = createCallStage([lost(), reply(200, mixed)]);
    expect((await stage.run(callOf('addReferenceCode'))).at(-1)?.result?.body).toEqual(mixed);
  });
});
