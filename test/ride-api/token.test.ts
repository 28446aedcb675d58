import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import { toScope } from '../../src/domain/keys.js';
import { interpretTokenReply, tokenRequest } from '../../src/ride-api/token.js';
import bodies from '../fixtures/error-bodies.assumed.json' with { type: 'json' };
import { answer, businessAccount, failure, partnerAccount } from './accounts.js';

describe('a token request', () => {
  it('of the partner interface is the form the service states', () => {
    expect(tokenRequest(partnerAccount(), toScope('demand_partner'), profile)).toEqual({
      method: 'POST',
      url: 'https://partner.example/v1/oauth/token',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'client_id=client-1&client_secret=very+secret+%26+odd%2Bvalue&grant_type=client_credentials&scope=demand_partner',
    });
  });

  it('of the business interface goes to the auth address, without a version', () => {
    const request = tokenRequest(businessAccount(), toScope('order finance'), profile);
    expect(request.url).toBe('https://auth.example/oauth/token');
    expect(new URLSearchParams(String(request.body)).get('scope')).toBe('finance order');
  });

  it('of the partner interface is a form, whatever the profile says of the business interface', () => {
    const inJson = { ...profile, tokens: { ...profile.tokens, businessEncoding: 'json' as const } };
    const { headers } = tokenRequest(partnerAccount(), toScope('demand_partner'), inJson);
    expect(headers['Content-Type']).toBe('application/x-www-form-urlencoded');
  });
});

const context = { account: businessAccount(), scope: toScope('order'), profile, now: 0, maxWaitMs: 600_000 };
const interpret = (reply: ReturnType<typeof answer>) => interpretTokenReply(reply, context);

describe('the answer to a token request', () => {
  it.each([
    ['invalid_client', 'credentialsRejected'],
    ['unauthorized_client', 'credentialsRejected'],
    ['INVALID_CREDENTIALS', 'credentialsRejected'],
    ['invalid_scope', 'scopeRejected'],
    ['invalid_grant', 'grantRejected'],
    ['unsupported_grant_type', 'grantRejected'],
    ['invalid_request', 'grantRejected'],
    ['VALIDATION_ERROR', 'grantRejected'],
  ])('"%s" means %s with 400, 401 and 200, in either shape', (upstreamCode, code) => {
    const rfc = { error: upstreamCode };
    const envelope = { status: 'error', error: { code: upstreamCode, message: 'm' } };
    for (const status of [400, 401, 200]) {
      for (const body of [rfc, envelope]) {
        expect(() => interpret(answer(status, body))).toThrow(failure('TokenRefused', code, { status, upstreamCode }));
      }
    }
  });

  it.each([
    [400, 'grantRejected'],
    [401, 'credentialsRejected'],
    [403, 'credentialsRejected'],
  ])('%i decides by itself when the body says nothing', (status, code) => {
    expect(() => interpret(answer(status))).toThrow(failure('TokenRefused', code, { status, upstreamCode: null }));
    expect(() => interpret(answer(status, { error: 'some_other_word' }))).toThrow(failure('TokenRefused', code));
  });

  it('that is a passing failure stays one, whatever word it carries', () => {
    const limited = failure('RideApiError', 'RATE_LIMITED', { retryable: true, retryAfterMs: 7_000 });
    expect(() => interpret(answer(429, bodies.rfc6749, { 'retry-after': '7' }))).toThrow(limited);
    expect(() => interpret(answer(403, undefined, { 'retry-after': '7' }))).toThrow(limited);
    expect(() => interpret(answer(503, bodies.rfc6749))).toThrow(failure('RideApiError', 'UPSTREAM_FAILED'));
  });

  it.each([
    [302, 'REDIRECTED'],
    [404, 'NOT_FOUND'],
    [415, 'REFUSED'],
  ])('%i is a final error of the address or the request', (status, code) => {
    expect(() => interpret(answer(status))).toThrow(failure('RideApiError', code, { retryable: false }));
  });

  it.each([
    ['no body', undefined, 'UnusableReply', 'NO_TOKEN'],
    ['no token', {}, 'UnusableReply', 'NO_TOKEN'],
  ])('with %s is no token: %j', (_, body, name, code) => {
    expect(() => interpret(answer(200, body))).toThrow(failure(name, code));
  });
});
