import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTokenReply } from '../../src/contracts/token-reply.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import { toScope } from '../../src/domain/keys.js';
import given from '../fixtures/token-replies.given.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const unscoped = { wantedScope: toScope(''), fallbackLifetimeMs: 300_000 };
const wanting = (scope: string) => ({ ...unscoped, wantedScope: toScope(scope) });
const reply = { access_token: 't0ken', token_type: 'Bearer', expires_in: 899 };
const code = (value: string) => expect.objectContaining({ name: 'UnusableReply', code: value });

describe('a token reply', () => {
  it('is read in the shapes the service shows', () => {
    const read = (body: unknown, scope: string) => parseTokenReply(body, wanting(scope));
    const partner = { accessToken: '<ACCESS_TOKEN>', lifetimeMs: 3_600_000 };
    expect(read(given.partner, 'demand_partner')).toEqual(partner);
    expect(read(given.business, 'order')).toMatchObject({ lifetimeMs: 899_000 });
    expect(read(given.unscoped, '')).toMatchObject({ lifetimeMs: 899_000 });
  });

  it.each([undefined, null, 'bearer', 'BEARER'])('counts as bearer with token_type %j', (token_type) => {
    expect(parseTokenReply({ ...reply, token_type }, unscoped).accessToken).toBe('t0ken');
  });

  it.each(['mac', '', 7, {}])('is refused with token_type %j', (token_type) => {
    expect(() => parseTokenReply({ ...reply, token_type }, unscoped)).toThrow(code('WRONG_TOKEN_TYPE'));
  });

  it.each([
    [899, 899],
    ['899', 899],
    [' 12.9 ', 12],
    [12.9, 12],
    [1e300, 604_800],
    ...[undefined, null, 'soon', '', '0x10', 0, 0.5, -5, '-5', Number.NaN].map((unusable) => [unusable, 300]),
  ])('with expires_in %j lives %i seconds', (expires_in, seconds) => {
    expect(parseTokenReply({ ...reply, expires_in }, unscoped).lifetimeMs).toBe(Number(seconds) * 1_000);
  });

  it.each(['order finance extra', undefined])('grants "finance order" with the scope %j', (scope) => {
    expect(parseTokenReply({ ...reply, scope }, wanting('finance order')).accessToken).toBe('t0ken');
  });

  it.each(['', 'finance', 'orders', 'order.read'])('is refused when %j was granted but "order" wanted', (scope) => {
    expect(() => parseTokenReply({ ...reply, scope }, wanting('order'))).toThrow(code('SCOPE_NOT_GRANTED'));
  });

  const noTokens = [undefined, null, '', 7, 'two words', 'line\nbreak', 'ümlaut', 'x'.repeat(16_385)];
  it.each(noTokens)('holds no token when access_token is %j', (access_token) => {
    expect(() => parseTokenReply({ ...reply, access_token }, unscoped)).toThrow(code('NO_TOKEN'));
  });

  it('never fails otherwise than with its own error, and never repeats the body', () => {
    const any = fc.jsonValue();
    const fields = { access_token: any, token_type: any, expires_in: any, scope: any };
    const body = fc.oneof(any, fc.record(fields, { requiredKeys: [] }));
    forAny(body, (value) => {
      try {
        expect(parseTokenReply(value, unscoped).lifetimeMs).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableReply);
      }
    });
  });
});
