import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSubscriber, parseSubscriberList } from '../../src/contracts/subscriber-reply.js';
import given from '../fixtures/subscriber-reply.given.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const read = {
  id: 'sub-1',
  secretId: '0d4f1f0e-9b0a-4f7e-8f5f-3f2b8f1d7c11',
  deliveryAddress: 'https://rides.example/webhooks/x',
  createdAt: '2031-05-01T10:00:00.123456789Z',
  updatedAt: '2031-05-01T10:00:00Z',
};

describe('the answer to a subscription', () => {
  it('is read as given, its times as texts', () => {
    expect(parseSubscriber(given)).toEqual(read);
  });

  it('is one of a subscriber even when nothing but the id is there', () => {
    const nothing = { secretId: null, deliveryAddress: null, createdAt: null, updatedAt: null };
    expect(parseSubscriber({ id: 7 })).toEqual({ id: '7', ...nothing });
    const unusable = { id: 'a', secret_id: '', created_at: 5, hook_address: null };
    expect(parseSubscriber(unusable)).toEqual({ id: 'a', ...nothing });
  });

  const unusableIds = ['', 1.5, 'a b', 'a\n', 'x'.repeat(201)];
  it.each([undefined, null, [], 'x', {}, ...unusableIds.map((id) => ({ id }))])('names no subscriber: %j', (body) => {
    expect(parseSubscriber(body)).toBeUndefined();
  });
});

describe('a list of subscribers (assumed)', () => {
  it.each([[[given]], [{ subscribers: [given] }], [{ subscribers: [{}, given, null] }]])('is read from %j', (body) => {
    expect(parseSubscriberList(body)).toEqual([read]);
  });

  it('is not found in anything else, whatever it is', () => {
    forAny(fc.jsonValue(), (body) => {
      const list = parseSubscriberList(body);
      const isList = Array.isArray(body) || Array.isArray((body as { subscribers?: unknown } | null)?.subscribers);
      expect(list !== undefined).toBe(isList);
    });
  });
});
