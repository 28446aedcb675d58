import { describe, expect, it } from 'vitest';
import {
  parseContractProfile,
  defaultContractProfile as profile,
} from '../../src/contracts/default-contract-profile.js';
import { InvalidInput } from '../../src/domain/errors.js';
import {
  isOutcomeUnclear,
  RideApiGarbled,
  RideApiUnreachable,
  type UnreachableCode,
} from '../../src/ride-api/errors.js';
import { operationScope } from '../../src/ride-api/operation-request.js';
import {
  createSubscriberRequest,
  deleteSubscriberRequest,
  interpretSubscriberDeletion,
  interpretSubscriberList,
  interpretSubscriberReply,
  listSubscribersRequest,
} from '../../src/ride-api/subscription.js';
import given from '../fixtures/subscriber-reply.given.json' with { type: 'json' };
import { answer, businessAccount, errorOf, partnerAccount } from './accounts.js';

const account = businessAccount();
const deliveryAddress = 'https://rides.example/webhooks/business/status_changed/abc.very-secret-mac-of-a-path';
const subscriber = { deliveryAddress, eventType: 'status_changed' } as const;
const context = { account, accessToken: 'the access token', deliveryAddress, now: 0, maxWaitMs: 600_000 };
const managing = parseContractProfile({
  operations: { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } },
});
const company = 'businessId=11111111-2222-4333-8444-555555555555';

describe('the request for a subscription', () => {
  it('is as the service states it: one event type as a plain string, with a token without scope', () => {
    const { body, ...request } = createSubscriberRequest(account, subscriber, 't0ken', profile);
    expect(request).toEqual({
      method: 'POST',
      url: `https://business.example/v1/subscribers?${company}`,
      headers: { Accept: 'application/json', Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
    expect(JSON.parse(String(body))).toEqual({ hook_address: deliveryAddress, event_types: 'status_changed' });
    expect(operationScope(businessAccount(), 'createSubscriber', profile)).toBe('');
  });

  it('cannot be made for a partner account', () => {
    expect(() => createSubscriberRequest(partnerAccount(), subscriber, 't', profile)).toThrow(InvalidInput);
  });
});

describe('the answer to a request for a subscription', () => {
  it.each([200, 201, 202])('is a subscriber with any success code: %i', (status) => {
    expect(interpretSubscriberReply(answer(status, given), context)).toMatchObject({ id: 'sub-1' });
  });

  it('is unclear when a success names no subscriber', () => {
    const error = errorOf(() => interpretSubscriberReply(answer(201, {}), context));
    expect(error.code).toBe('UNEXPECTED_STATUS');
    expect(isOutcomeUnclear(error)).toBe(true);
  });

  it('never puts the address, its secret part or the token into an error', () => {
    const mac = deliveryAddress.split('.').at(-1);
    const ofAnother = `abd.${'aB3_-'.repeat(9).slice(0, 43)}`;
    const last = deliveryAddress.split('/').at(-1);
    for (const echo of [deliveryAddress, last, mac, ofAnother, context.accessToken, account.clientSecret]) {
      const body = { error: echo?.slice(0, 64), request_id: echo?.slice(0, 64) };
      const { message, upstreamCode, requestId } = errorOf(() => interpretSubscriberReply(answer(422, body), context));
      expect([upstreamCode, requestId]).toEqual([null, null]);
      expect(message).toBe('upstream refused: UNPROCESSABLE (HTTP 422)');
    }
  });
});

describe('requests that list and delete subscribers (assumed)', () => {
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

  it('count a subscriber that is gone as deleted, and a refusal as a refusal', () => {
    for (const status of [200, 204, 404]) expect(interpretSubscriberDeletion(answer(status), context)).toBeUndefined();
    expect(errorOf(() => interpretSubscriberDeletion(answer(403), context)).code).toBe('FORBIDDEN');
  });

  it('find a list only where the answer holds one', () => {
    expect(interpretSubscriberList(answer(200, { subscribers: [given] }), context)).toHaveLength(1);
    expect(() => interpretSubscriberList(answer(200, {}), context)).toThrow(RideApiGarbled);
    expect(errorOf(() => interpretSubscriberList(answer(500), context)).code).toBe('UPSTREAM_FAILED');
  });
});

describe('the outcome of a changing call', () => {
  const unreachable = (code: UnreachableCode) => new RideApiUnreachable(code, 'https://business.example');
  const refused = (status: number) => errorOf(() => interpretSubscriberReply(answer(status), context));

  it.each([...[400, 401, 402, 403, 404, 409, 422, 429, 302, 503].map(refused), unreachable('NO_CONNECTION')])(
    'is clear, since nothing was made: %s',
    (error) => {
      expect(isOutcomeUnclear(error)).toBe(false);
    },
  );

  it.each([
    ...[500, 502, 504, 200, 204].map(refused),
    unreachable('CONNECTION_LOST'),
    unreachable('TOTAL_TIMEOUT'),
    new RideApiGarbled('NOT_JSON', 'https://business.example', 200),
    new Error('?'),
  ])('is unclear: %s', (error) => {
    expect(isOutcomeUnclear(error)).toBe(true);
  });
});
