import { describe, expect, it } from 'vitest';
import {
  parseContractProfile,
  defaultContractProfile as profile,
} from '../../src/contracts/default-contract-profile.js';
import { InvalidInput } from '../../src/domain/errors.js';
import {
  isOutcomeUnclear,
  RideApiError,
  RideApiGarbled,
  RideApiUnreachable,
  type UnreachableCode,
} from '../../src/ride-api/errors.js';
import type { ApiReply } from '../../src/ride-api/http.js';
import {
  createSubscriberRequest,
  deleteSubscriberRequest,
  interpretSubscriberDeletion,
  interpretSubscriberList,
  interpretSubscriberReply,
  listSubscribersRequest,
  subscriberScope,
} from '../../src/ride-api/subscription.js';
import given from '../fixtures/subscriber-reply.given.json' with { type: 'json' };
import { businessAccount, partnerAccount } from './accounts.js';

const account = businessAccount();
const deliveryAddress = 'https://rides.example/webhooks/business/status_changed/abc.very-secret-mac-of-a-path';
const subscriber = { deliveryAddress, eventType: 'status_changed' } as const;
const context = { account, accessToken: 'the access token', deliveryAddress, now: 0, maxWaitMs: 600_000 };
const managing = parseContractProfile({
  operations: { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } },
});
const company = 'businessId=11111111-2222-4333-8444-555555555555';

const reply = (status: number, body?: unknown): ApiReply => ({ status, headers: {}, body });

function errorOf(act: () => unknown): RideApiError {
  try {
    act();
  } catch (error) {
    if (error instanceof RideApiError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the request for a subscription', () => {
  it('is as the service states it: one event type, as a plain string', () => {
    const { body, ...request } = createSubscriberRequest(account, subscriber, 't0ken', profile);
    expect(request).toEqual({
      method: 'POST',
      url: `https://business.example/v1/subscribers?${company}`,
      headers: { Accept: 'application/json', Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
    expect(JSON.parse(String(body))).toEqual({ hook_address: deliveryAddress, event_types: 'status_changed' });
  });

  it('goes with a token that was asked for without scope', () => {
    expect(subscriberScope('createSubscriber', profile)).toBe('');
  });

  it('cannot be made for a partner account', () => {
    expect(() => createSubscriberRequest(partnerAccount(), subscriber, 't', profile)).toThrow(InvalidInput);
  });
});

describe('the answer to it', () => {
  it.each([200, 201, 202])('is a subscriber with any success code: %i', (status) => {
    expect(interpretSubscriberReply(reply(status, given), context)).toMatchObject({ id: 'sub-1' });
  });

  it('is unclear when a success names no subscriber', () => {
    const error = errorOf(() => interpretSubscriberReply(reply(201, {}), context));
    expect(error.code).toBe('UNEXPECTED_STATUS');
    expect(isOutcomeUnclear(error)).toBe(true);
  });

  it('never puts the address, its secret part or the token into an error', () => {
    const mac = deliveryAddress.split('.').at(-1);
    const ofAnother = `abd.${'aB3_-'.repeat(9).slice(0, 43)}`;
    const last = deliveryAddress.split('/').at(-1);
    for (const echo of [deliveryAddress, last, mac, ofAnother, context.accessToken, account.clientSecret]) {
      const body = { error: echo?.slice(0, 64), request_id: echo?.slice(0, 64) };
      const { message, upstreamCode, requestId } = errorOf(() => interpretSubscriberReply(reply(422, body), context));
      expect([upstreamCode, requestId]).toEqual([null, null]);
      expect(message).toBe('upstream refused: UNPROCESSABLE (HTTP 422)');
    }
  });
});

describe('listing and deleting (assumed)', () => {
  it('are off by default', () => {
    expect(() => listSubscribersRequest(account, 't', profile)).toThrow('listSubscribers');
    expect(() => deleteSubscriberRequest(account, 'a', 't', profile)).toThrow('deleteSubscriber');
  });

  it('are made where the profile switches them on', () => {
    const base = 'https://business.example/v1/subscribers';
    expect(listSubscribersRequest(account, 't', managing)).toMatchObject({ method: 'GET', url: `${base}?${company}` });
    const deletion = { method: 'DELETE', url: `${base}/a%2Fb?${company}` };
    expect(deleteSubscriberRequest(account, 'a/b', 't', managing)).toMatchObject(deletion);
  });

  it('take what is gone for deleted, and a refusal for a refusal', () => {
    for (const status of [200, 204, 404]) expect(interpretSubscriberDeletion(reply(status), context)).toBeUndefined();
    expect(errorOf(() => interpretSubscriberDeletion(reply(403), context)).code).toBe('FORBIDDEN');
  });

  it('do not take anything for a list', () => {
    expect(interpretSubscriberList(reply(200, { subscribers: [given] }), context)).toHaveLength(1);
    expect(() => interpretSubscriberList(reply(200, {}), context)).toThrow(RideApiGarbled);
    expect(errorOf(() => interpretSubscriberList(reply(500), context)).code).toBe('UPSTREAM_FAILED');
  });
});

describe('the outcome of a changing call', () => {
  const unreachable = (code: UnreachableCode, systemCode: string | null = null) =>
    new RideApiUnreachable(code, 'https://business.example', systemCode);
  const refused = (status: number) => errorOf(() => interpretSubscriberReply(reply(status), context));

  it.each([400, 401, 402, 403, 404, 409, 422, 429, 302, 503])('is clear after HTTP %i: nothing was made', (status) => {
    expect(isOutcomeUnclear(refused(status))).toBe(false);
  });

  it.each([500, 502, 504, 200, 204])('is unclear after HTTP %i', (status) => {
    expect(isOutcomeUnclear(refused(status))).toBe(true);
  });

  it.each<UnreachableCode>(['CONNECTION_REFUSED', 'CONNECT_TIMEOUT', 'DNS', 'TLS'])('is clear after %s', (code) => {
    expect(isOutcomeUnclear(unreachable(code))).toBe(false);
  });

  it.each<UnreachableCode>([
    'HEADERS_TIMEOUT',
    'BODY_TIMEOUT',
    'TOTAL_TIMEOUT',
    'CONNECTION_LOST',
    'CLOSED',
    'NETWORK',
  ])('is unclear after %s', (code) => {
    expect(isOutcomeUnclear(unreachable(code))).toBe(true);
  });

  it('is unclear after a time-out of a connection that may have stood, garbled bytes and anything unknown', () => {
    expect(isOutcomeUnclear(unreachable('CONNECT_TIMEOUT', 'ETIMEDOUT'))).toBe(true);
    expect(isOutcomeUnclear(new RideApiGarbled('NOT_JSON', 'https://business.example', 200))).toBe(true);
    expect(isOutcomeUnclear(new Error('?'))).toBe(true);
  });
});
