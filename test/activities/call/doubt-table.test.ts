import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BusinessOperation, type DoubtDetails, nothingSent } from '../../../src/domain/call.js';
import { outcomeUnknown } from '../../../src/domain/ride/ride.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { answers, names, placesOfId } from '../../support/ride/doubt.js';
import { callOf, createCallStage, reply } from './attempts.js';

// The table of doubt and the next answer: an earlier create may have placed the order, a person has the create sent
// again.

const create = callOf('createOrder');
const inDoubt = { ...nothingSent, isInDoubt: true };
const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const repeatable = { operations: { createOrder: { repeatable: true } } };
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
    expect(message).toMatch(/An earlier attempt may have placed the order\. /);
    expect(message).toContain(`\`faretrail ride resolve business trip-9${named ? ' --order 4711' : ''}\``);
    expect(message).toMatch(/--order .*--try-again or --give-up REASON\.$/);
  });

  it('a create that may not be repeated is one request, but for answers that say it was not taken', async () => {
    const { sent } = await failureOf();
    if (!repeatable && answer !== 429) expect(sent).toBe(1);
  });
});

// No person asked: the attempts of one call repeat, since the profile says that the service recognizes repeats.
describe.each([
  ['lost', lost],
  ['a 503', () => reply(503, {})],
])('after an attempt that was %s, a repeat', (_what, first) => {
  it.each(rows.filter((row) => row.repeatable))(
    'answered $answer with an order id in $place leaves the doubt',
    async (row) => {
      const { body, headers } = names(row.place, '4711');
      const turn = () => (row.answer === 'none' ? lost() : reply(row.answer, body, headers));
      const stage = createCallStage([first(), ...Array.from({ length: 60 }, turn)], repeatable);
      const { failure } = (await stage.run(create, nothingSent, 600_000)).at(-1) ?? {};
      expect(failure?.type).toBe('OutcomeUnknown');
      expect(failure?.message).not.toMatch(/another key|another request id/);
      const [details] = (failure?.details ?? []) as [DoubtDetails?];
      expect(details?.namedOrderId).toBe(row.answer === 'none' || row.place === 'neither' ? undefined : '4711');
    },
  );
});

it('no series of answers without a success that names the order ends a doubt', async () => {
  const answerOf = fc.tuple(fc.constantFrom(...answers), fc.constantFrom(...placesOfId));
  const series = fc.asyncProperty(
    fc.array(answerOf, { minLength: 1, maxLength: 6 }),
    fc.boolean(),
    async (asked, isAsked) => {
      const turns = asked.map(([answer, place]) => {
        const { body, headers } = names(place, '4711');
        return answer === 'none' ? lost() : reply(answer, body, headers);
      });
      const before = isAsked ? inDoubt : nothingSent;
      const stage = createCallStage(
        [...(isAsked ? [] : [lost()]), ...turns, ...Array.from({ length: 60 }, lost)],
        repeatable,
      );
      const attempts = await stage.run(create, before, 600_000);
      expect(attempts.at(-1)?.failure).toMatchObject({ type: 'OutcomeUnknown' });
    },
  );
  await fc.assert(series, { seed: 50, numRuns: 200 });
});

describe.each([200, 201, 202, 204])('in doubt, a success %i', (status) => {
  const endOf = async (body: unknown, headers = {}) =>
    (await createCallStage([reply(status, body, headers)]).run(create, inDoubt)).at(-1);

  it('ends the doubt if it names the order in its body', async () => {
    expect((await endOf({ id: '4711' }))?.seen).toMatchObject({ orderId: '4711' });
  });

  it('leaves the doubt if it names none', async () => {
    expect((await endOf({}))?.failure).toMatchObject({ type: 'OutcomeUnknown' });
  });

  const isCreated = status === 201;
  it(`${isCreated ? 'ends' : 'leaves'} the doubt if it names the order in Location alone`, async () => {
    for (const body of [{}, undefined]) {
      const { failure, seen } = (await endOf(body, { location: '/v1/orders/4711' })) ?? {};
      if (isCreated) expect(seen).toMatchObject({ orderId: '4711' });
      else expect(failure).toMatchObject({ type: 'OutcomeUnknown', details: [{ namedOrderId: '4711' }] });
    }
  });
});

describe.each([
  ['a lost answer', [lost()]],
  ['a refusal', [reply(422, {})]],
  ['no answer at all, until the time is over', Array.from({ length: 60 }, lost)],
])('an order that one answer names is shown', (what, turns) => {
  it(`after ${what} to the repeat`, async () => {
    const stage = createCallStage([reply(503, { order_id: '4711' }), ...turns, reply(410, {})], repeatable);
    const { failure } = (await stage.run(create, nothingSent, 600_000)).at(-1) ?? {};
    expect(failure).toMatchObject({ type: 'OutcomeUnknown', details: [{ namedOrderId: '4711' }] });
  });
});

// The calls of a ride besides its create, and the read by which it checks the order that a person names.
describe.each<BusinessOperation>(['updateOrder', 'cancelOrder', 'orderDetails'])('%s', (operation) => {
  const unchanged = reply(200, { id: '4711', status: 'Routing' });
  const isChange = operation !== 'orderDetails';

  it.each(answers)('answered %s advises no other key', async (answer) => {
    const turn = answer === 'none' ? lost() : reply(answer, names('neither', '').body);
    for (const turns of [
      [turn],
      isChange ? [lost(), unchanged, turn, ...(answer === 429 ? [] : [unchanged])] : [turn],
    ]) {
      const stage = createCallStage([...turns, ...Array.from({ length: 60 }, () => turn)]);
      const { failure } = (await stage.run(callOf(operation), nothingSent, 600_000)).at(-1) ?? {};
      expect(failure?.message).toBeTypeOf('string');
      expect(failure?.message).not.toMatch(/another key/);
    }
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
    ['/login', 'a page'],
    ['/rides/4711', 'another collection'],
    ['/', 'the root'],
    ['https://elsewhere.example/v1/orders/4711', 'another origin'],
    ['/v1/orders/%E0%A4%A', 'no percent-encoding'],
    [`/v1/orders/${'4'.repeat(129)}`, 'too long an id'],
    ['http://[', 'no URL'],
  ])('a Location of %s names no order: %s', async (location) => {
    const [end] = await createCallStage([reply(422, undefined, { location })]).run(create);
    expect(end?.failure).toMatchObject({ type: 'Refused' });
  });

  it.each(['/orders/4711', '../orders/4711', '4711/../orders/4711', '/v2/business/orders/4711/'])(
    'a Location of %s names the order',
    async (location) => {
      const [end] = await createCallStage([reply(422, undefined, { location })]).run(create);
      expect(end?.failure).toMatchObject({ type: 'OutcomeUnknown', details: [{ namedOrderId: '4711' }] });
    },
  );

  it.each([
    {},
    { id: '' },
    { id: 'a/b' },
    { id: ' 1' },
    { id: 1.5 },
    { id: { a: 1 } },
    { order_id: '..' },
    { id: null },
    'x',
    ['4711'],
  ])('a body %j names no order', async (body) => {
    const [end] = await createCallStage([reply(422, body)]).run(create);
    expect(end?.failure).toMatchObject({ type: 'Refused' });
  });
});
