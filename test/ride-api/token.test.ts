import type { FormData } from 'undici';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import { toScope } from '../../src/domain/keys.js';
import { interpretTokenReply, tokenRequest } from '../../src/ride-api/token.js';
import bodies from '../fixtures/error-bodies.assumed.json' with { type: 'json' };
import given from '../fixtures/token-replies.given.json' with { type: 'json' };
import { answer, businessAccount, failure, partnerAccount } from './accounts.js';

const withEncoding = (businessEncoding: 'urlencoded' | 'multipart' | 'json') => ({
  ...profile,
  tokens: { ...profile.tokens, businessEncoding },
});

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

  it('leaves the scope out for the token without scope', () => {
    const request = tokenRequest(businessAccount(), toScope(''), profile);
    expect([...new URLSearchParams(String(request.body)).keys()]).toEqual(['client_id', 'client_secret', 'grant_type']);
  });

  it('is JSON or multipart where a profile says so, for the business interface only', () => {
    const json = tokenRequest(businessAccount(), toScope('order'), withEncoding('json'));
    expect(json.headers).toEqual({ 'Content-Type': 'application/json' });
    expect(JSON.parse(String(json.body))).toMatchObject({ client_id: 'client-1', scope: 'order' });

    const multipart = tokenRequest(businessAccount(), toScope('order'), withEncoding('multipart'));
    expect(multipart.headers).toEqual({});
    expect((multipart.body as FormData).get('client_secret')).toBe('very secret & odd+value');

    const partner = tokenRequest(partnerAccount(), toScope('demand_partner'), withEncoding('json'));
    expect(partner.headers['Content-Type']).toBe('application/x-www-form-urlencoded');
  });
});

const context = { account: businessAccount(), scope: toScope('order'), profile, now: 0, maxWaitMs: 600_000 };
const interpret = (reply: ReturnType<typeof answer>) => interpretTokenReply(reply, context);

describe('the answer to a token request', () => {
  it('gives the token', () => {
    expect(interpret(answer(200, given.business))).toEqual({
      accessToken: '<ACCESS_TOKEN>',
      lifetimeMs: 899_000,
      grantedScope: 'order',
    });
  });

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
    expect(() => interpret(answer(503, bodies.rfc6749))).toThrow(failure('RideApiError', 'UPSTREAM_FAILED'));
  });

  it.each([
    [302, 'REDIRECTED'],
    [404, 'NOT_FOUND'],
    [415, 'REFUSED'],
  ])('%i is a final error of the address or the request', (status, code) => {
    expect(() => interpret(answer(status))).toThrow(failure('RideApiError', code, { retryable: false }));
  });

  it('without a usable token is an UnusableReply', () => {
    expect(() => interpret(answer(200, {}))).toThrow(failure('UnusableReply', 'NO_TOKEN'));
    expect(() => interpret(answer(200))).toThrow(failure('UnusableReply', 'NO_TOKEN'));
  });

  it('that grants another scope, or another type of token, is a refusal', () => {
    const other = (part: object) => answer(200, { ...given.business, ...part });
    expect(() => interpret(other({ scope: 'finance' }))).toThrow(failure('TokenRefused', 'scopeRejected'));
    expect(() => interpret(other({ token_type: 'mac' }))).toThrow(failure('TokenRefused', 'grantRejected'));
  });
});
