import { describe, expect, it } from 'vitest';
import { type TokenSource, TokenUnavailable } from '../../../src/activities/token-source.js';
import { UnusableReply } from '../../../src/contracts/unusable-reply.js';
import { toOrderId } from '../../../src/domain/keys.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { apiError, apiErrorCodes } from '../api-errors.js';
import { account, readingOf } from '../attempts.js';
import { fakeRideApi, orderReader, tokensInOrder } from '../readers.js';

const orderId = toOrderId('4711');

/** A reader over a service that answers these in turn, and what it sent. */
function readerWith(...answers: (OrderReading | Error)[]) {
  const sent: string[] = [];
  const tokens = tokensInOrder();
  const rideApi = fakeRideApi({
    async readOrder(_account, askedOrderId, accessToken) {
      sent.push(`${askedOrderId} with ${accessToken}`);
      const answer = answers.shift();
      if (answer === undefined) throw new Error('more calls than expected');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { sent, tokens, rideApi, read: orderReader(rideApi, tokens) };
}

describe('a read of an order', () => {
  it.each([
    ['is sent once, with the token of the fleet in clear', [], [undefined]],
    ['is repeated exactly once after a 401, with another token', [apiError('TOKEN_REJECTED')], [undefined, 'token-1']],
  ])('%s', async (_, errors, rejected) => {
    const { read, sent, tokens } = readerWith(...errors, readingOf('Driving'));
    expect(await read(account, orderId)).toEqual(readingOf('Driving'));
    expect(sent).toEqual(rejected.map((_id, index) => `4711 with clear token-${index + 1}`));
    expect(tokens.calls).toEqual(rejected);
  });

  it.each([apiError('TOKEN_REJECTED'), apiError('UPSTREAM_FAILED')])(
    'fails with what the repetition meets: %s',
    async (failed) => {
      const { read, sent } = readerWith(apiError('TOKEN_REJECTED'), failed, readingOf('Driving'));
      await expect(read(account, orderId)).rejects.toBe(failed);
      expect(sent).toHaveLength(2);
    },
  );

  it.each([
    ...apiErrorCodes.filter((code) => code !== 'TOKEN_REJECTED').map((code) => apiError(code)),
    new RideApiUnreachable('TOTAL_TIMEOUT', 'https://partner.example'),
    new RideApiGarbled('NOT_JSON', 'https://partner.example', 200),
    new UnusableReply('UNREADABLE_STATUS'),
    new Error('a bug of ours'),
  ])('is not repeated after anything else: %s', async (error) => {
    const { read, sent, tokens } = readerWith(error, readingOf('Driving'));
    await expect(read(account, orderId)).rejects.toBe(error);
    expect(sent).toHaveLength(1);
    expect(tokens.calls).toEqual([undefined]);
  });

  it('makes no call without a token', async () => {
    const { rideApi, sent } = readerWith(readingOf('Driving'));
    const unavailable = new TokenUnavailable('credentialsRejected', 'm', 0);
    const tokens: TokenSource = { ...tokensInOrder(), get: () => Promise.reject(unavailable) };
    await expect(orderReader(rideApi, tokens)(account, orderId)).rejects.toBe(unavailable);
    expect(sent).toEqual([]);
  });

  it('hands on the signal that calls it off, to the repetition too', async () => {
    const signals: unknown[] = [];
    const { signal } = new AbortController();
    const rideApi = fakeRideApi({
      async readOrder(_account, _orderId, _token, given) {
        signals.push(given);
        throw apiError('TOKEN_REJECTED');
      },
    });
    await expect(orderReader(rideApi, tokensInOrder())(account, orderId, { signal })).rejects.toThrow();
    expect(signals).toEqual([signal, signal]);
  });

  it.each(apiErrorCodes)('holds no token in what it throws: %s', async (code) => {
    const { read } = readerWith(apiError(code), apiError(code));
    const error: unknown = await read(account, orderId).catch((thrown: unknown) => thrown);
    expect(`${JSON.stringify(error)} ${String(error)} ${(error as Error).stack}`).not.toContain('clear token');
  });
});
