import { describe, expect, it } from 'vitest';
import { createQuoting } from '../../../src/activities/quote.js';
import { nothingSent } from '../../../src/domain/call.js';
import { toScope } from '../../../src/domain/keys.js';
import { QuoteTooOld, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import type { ApiReply } from '../../../src/ride-api/http.js';
import { stop } from '../../dev/sandbox/booking-calls.js';
import estimated from '../../fixtures/published/business-price-estimate-response.json' with { type: 'json' };
import { attemptOnce, iso, second, start } from '../temporal.js';
import { callOf, createCallStage, newOrder, refusal, reply } from './attempts.js';

const there = { lat: 51.513, lng: -0.12 };
const body = { ...newOrder, stops: [...newOrder.stops, stop('destination', 'drop_off', there)] };
const quoted = callOf('createOrder', { body, withQuote: true });
const estimate = reply(200, estimated);
const created = reply(201, { id: 'o-1' });
const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const expired = reply(422, {
  errors: [{ code: 'order_invalid', title: 'Not possible', field_errors: [{ field: 'quote_id', code: 'expired' }] }],
});
const repeatable = { operations: { createOrder: { repeatable: true } } };

/** Checking a quote asks nothing of the service. */
const noService = {
  askEstimate: () => Promise.reject(new Error('asked for an estimate')),
  scopeOf: () => toScope('order'),
  call: () => Promise.reject(new Error('called the service')),
};

const pathsOf = ({ requests }: ReturnType<typeof createCallStage>) =>
  requests.map(({ url }) => (url.includes('/price-estimate') ? 'estimate' : 'create'));
const bodiesOf = ({ requests }: ReturnType<typeof createCallStage>) =>
  requests.map(({ body: sent }) => JSON.parse(String(sent)) as Record<string, unknown>);

async function played(turns: (ApiReply | Error)[], overrides: unknown = {}, call = quoted) {
  const stage = createCallStage(turns, overrides);
  const attempts = await stage.run(call, nothingSent, 600_000);
  return { ...attempts.at(-1), sent: pathsOf(stage), bodies: bodiesOf(stage) };
}

describe('a create with a quote', () => {
  it('follows an estimate of its own places, product and time, and carries its quote', async () => {
    const { seen, end, sent, bodies } = await played([estimate, created]);
    expect(seen).toMatchObject({ orderId: 'o-1' });
    expect(end).toMatchObject({ quote: { price: '48.00', currency: 'GBP' } });
    expect(sent).toEqual(['estimate', 'create']);
    expect(bodies).toEqual([
      { origin: { lat: 51.5, lng: -0.12 }, stops: [], destination: there, product_id: body.product_id },
      { ...body, quote_id: estimated.quote_id },
    ]);
  });

  it.each([
    ['a server error', reply(503)],
    ['a lost answer', lost()],
    ['a rate limit', reply(429)],
    ['an answer without a quote', reply(200, { price: { value: '1.00' } })],
  ])('asks again after an estimate that ended in %s: it is only a read', async (_, turn) => {
    const { seen, sent } = await played([turn, estimate, created]);
    expect(seen).toMatchObject({ orderId: 'o-1' });
    expect(sent).toEqual(['estimate', 'estimate', 'create']);
  });

  it('fails like the estimate where the service refuses that, and is never in doubt', async () => {
    const { failure, sent } = await played([refusal(422, 'AREA_NOT_SERVED', 'Not there.')]);
    expect(failure).toMatchObject({
      type: 'Refused',
      message: expect.stringMatching(/^priceEstimate .*AREA_NOT_SERVED/),
    });
    expect(failure?.details).toEqual([{ status: 422, code: 'AREA_NOT_SERVED', message: 'Not there.' }]);
    expect(sent).toEqual(['estimate']);
  });

  it('gets one more quote where the service refuses the first, which surely placed no order', async () => {
    const { seen, sent } = await played([estimate, expired, estimate, created]);
    expect(seen).toMatchObject({ orderId: 'o-1' });
    expect(sent).toEqual(['estimate', 'create', 'estimate', 'create']);
  });

  it('is refused with the words of the service where it refuses two fresh quotes', async () => {
    const { failure, sent } = await played([estimate, expired, estimate, expired]);
    expect(failure).toMatchObject({ type: 'Refused', details: [{ code: 'order_invalid' }] });
    expect(failure?.details?.[0]).toMatchObject({ message: 'Not possible (quote_id: expired)' });
    expect(sent).toEqual(['estimate', 'create', 'estimate', 'create']);
  });

  it('is in doubt after a lost answer, and not sent again', async () => {
    const { failure, sent } = await played([estimate, lost(), estimate, created]);
    expect(failure).toMatchObject({ type: 'OutcomeUnknown' });
    expect(sent).toEqual(['estimate', 'create']);
  });

  it('is repeated with the same bytes where the service knows its request id', async () => {
    const { seen, sent, bodies } = await played([estimate, lost(), created], repeatable);
    expect(seen).toMatchObject({ orderId: 'o-1' });
    expect(sent).toEqual(['estimate', 'create', 'create']);
    expect(bodies[2]).toEqual(bodies[1]);
  });

  it('stays in doubt where the estimate for its repeat is refused', async () => {
    const stage = createCallStage([estimate, lost(), refusal(422, 'AREA_NOT_SERVED', 'Not there.')], repeatable);
    stage.onRequest = () => {
      stage.clock.now += 100_000; // the first quote dies meanwhile
    };
    expect((await stage.run(quoted)).at(-1)?.failure).toMatchObject({ type: 'OutcomeUnknown' });
  });

  it('is not sent with a quote that died between the two, whatever took so long', async () => {
    const stage = createCallStage([estimate, estimate, created]);
    stage.onRequest = (count) => {
      if (count === 1) stage.clock.now += 180_000;
    };
    const [first] = await stage.run(quoted);
    expect(first?.failure).toMatchObject({
      type: 'Unavailable',
      message: expect.stringContaining('quote became too old'),
    });
    expect(first?.end).toMatchObject({ sent: 'no' });
    expect(pathsOf(stage)).toEqual(['estimate', 'estimate', 'create']);
  });

  it('names the field that an estimate needs, before anything is sent', async () => {
    const { failure, sent } = await played([created], {}, callOf('createOrder', { withQuote: true }));
    expect(failure).toMatchObject({ type: 'InvalidInput', message: expect.stringContaining('"destination"') });
    expect(sent).toEqual([]);
  });
});

describe("a caller's own quote", () => {
  const given = (secondsAgo: number) => {
    const own = { ...body, quote_id: estimated.quote_id };
    const quoteGivenAt = new Date(createCallStage([]).clock.now - secondsAgo * 1_000).toISOString();
    return callOf('createOrder', { body: own, quoteGivenAt });
  };

  it('goes out for two minutes', async () => {
    expect(await played([created], {}, given(119))).toMatchObject({ seen: { orderId: 'o-1' } });
  });

  it('is refused before it is sent after that, with the way to a fresh one', async () => {
    const { failure, sent } = await played([created], {}, given(121));
    expect(failure).toMatchObject({ type: 'InvalidInput', message: expect.stringMatching(/body\.quote_id.*--quote/) });
    expect(sent).toEqual([]);
  });

  it('is refused by a worker whose clock is slow, once the attempt was due too late', async () => {
    const { check } = createQuoting({ rideApi: noService, call: noService.call, now: () => start });
    const checkedAfter = (dueMs: number) =>
      attemptOnce({ scheduledTimestampMs: start, currentAttemptScheduledTimestampMs: start + dueMs }, async () =>
        check({ ...given(0), quoteGivenAt: iso(start) }, null),
      );
    expect((await checkedAfter(119 * second)).error).toBeUndefined();
    expect((await checkedAfter(121 * second)).error).toMatchObject({ code: 'InvalidInput' });
  });

  it('never ends a doubt', async () => {
    const stage = createCallStage([created]);
    const before = { sent: 'no', isReadFirst: false, refusal: null, isInDoubt: true } as const;
    expect((await stage.run(given(500), before)).at(-1)?.failure).toMatchObject({ type: 'OutcomeUnknown' });
    expect(stage.requests).toEqual([]);
  });
});

it('an order that was not sent because of its quote had no effect', () => {
  expect(String(new QuoteTooOld())).toContain('not sent');
});
