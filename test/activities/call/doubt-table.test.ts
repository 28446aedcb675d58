import { describe, expect, it } from 'vitest';
import { type DoubtDetails, nothingSent } from '../../../src/domain/call.js';
import { outcomeUnknown } from '../../../src/domain/ride/ride.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { answers, names, placesOfId } from '../../support/ride/doubt.js';
import { callOf, createCallStage, reply } from './attempts.js';

// The table of doubt and the next answer: an earlier create may have placed the order, a person has the create sent again.

const create = callOf('createOrder');
const inDoubt = { ...nothingSent, isInDoubt: true };
const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const ride = { account: create.account, requestId: 'trip-9' };

const rows = answers.flatMap((answer) =>
  placesOfId.flatMap((place) => [false, true].map((repeatable) => ({ answer, place, repeatable }))),
);

describe.each(rows)('in doubt, $answer with an order id in $place, repeatable: $repeatable', (row) => {
  const { answer, place, repeatable } = row;
  const { body, headers } = names(place, '4711');
  const turn = () => (answer === 'none' ? lost() : reply(answer, body, headers));

  /** Plays the answer until the call ends: for a passing trouble that is the end of the time for all attempts. */
  async function failureOf() {
    const overrides = { operations: { createOrder: { repeatable } } };
    const stage = createCallStage(Array.from({ length: 60 }, turn), overrides);
    const attempts = await stage.run(create, inDoubt, 600_000);
    return { failure: attempts.at(-1)?.failure, sent: stage.requests.length };
  }

  it('the doubt stays, and no text advises another key', async () => {
    const { failure } = await failureOf();
    expect(failure?.type).toBe('OutcomeUnknown');
    expect(failure?.message).not.toMatch(/another key|another request id/);
  });

  it('the ride shows a way on, with the order that the answer named', async () => {
    const { failure } = await failureOf();
    const [details] = (failure?.details ?? []) as [DoubtDetails?];
    const named = answer === 'none' || place === 'neither' ? undefined : '4711';
    expect(details?.namedOrderId).toBe(named);
    const reason = details?.reason ?? expect.fail('no reason');
    expect(reason).not.toMatch(/another key/);
    const { message } = outcomeUnknown(ride, { reason, isRepeated: true, suggestedOrderId: details?.namedOrderId }, '');
    expect(message).toMatch(/An earlier attempt may have placed the order too\./);
    expect(message).toContain(`faretrail ride resolve business trip-9${named ? ' --order 4711' : ''}`);
  });

  it('a create that may not be repeated is one request, but for answers that say it was not taken', async () => {
    const { sent } = await failureOf();
    if (!repeatable && answer !== 429) expect(sent).toBe(1);
  });
});

describe('without an earlier attempt', () => {
  const failureOf = async (status: number, place: (typeof placesOfId)[number]) => {
    const { body, headers } = names(place, '4711');
    return (await createCallStage([reply(status, body, headers)]).run(create)).at(-1)?.failure;
  };

  it.each([400, 402, 403, 404, 409, 410, 422])('%i that names an order leaves it to a person', async (status) => {
    for (const place of ['body', 'Location'] as const)
      expect(await failureOf(status, place)).toMatchObject({
        type: 'OutcomeUnknown',
        details: [{ namedOrderId: '4711' }],
      });
  });

  it('409 advises no other key, since the service may know the request from an earlier run', async () => {
    const failure = await failureOf(409, 'neither');
    expect(failure).toMatchObject({ type: 'Refused', message: expect.stringMatching(/check with the service/) });
    expect(failure?.message).not.toMatch(/another key/);
    expect((await failureOf(422, 'neither'))?.message).toMatch(/another key/);
  });

  it.each([
    ['/v1/orders/47%2F11', 'a slash in the id'],
    ['/v1/orders', 'the create itself'],
    ['/', 'the root'],
    ['https://elsewhere.example/v1/orders/4711', 'another origin'],
    ['/v1/orders/%E0%A4%A', 'no percent-encoding'],
    [`/v1/orders/${'4'.repeat(129)}`, 'too long an id'],
    ['http://[', 'no URL'],
  ])('a Location of %s names no order: %s', async (location) => {
    const [end] = await createCallStage([reply(422, undefined, { location })]).run(create);
    expect(end?.failure).toMatchObject({ type: 'Refused' });
  });
});
