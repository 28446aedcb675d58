import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sandboxCredentials } from '../../sandbox/credentials.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { call, codeOf, newToken, type Seen } from './calls.js';

const { businessId } = sandboxCredentials.business;
const address = 'https://ingress.example/webhooks/business/status_changed/1.x';

let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'business', { scope: null });
});
afterEach(() => {
  sandbox.clearFaults();
  for (const { id } of sandbox.subscribers()) sandbox.removeSubscriber(id);
});
afterAll(() => sandbox.close());

const given = () => ({
  accept: 'application/json',
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});
const body = (change: object = {}) =>
  JSON.stringify({ hook_address: address, event_types: 'status_changed', ...change });
const url = (query = `?businessId=${businessId}`, id = '') => `${sandbox.url}/v1/subscribers${id}${query}`;
const subscribe = (change: object = {}, headers: Record<string, string> = given()): Promise<Seen> =>
  call('POST', url(), headers, body(change));

describe('a subscription', () => {
  it('is answered with 201 and exactly the given fields', async () => {
    const { status, json } = await subscribe();
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      hook_address: address,
      event_types: [{ event_type: 'status_changed' }],
      business_ids: [{ business_id: businessId }],
      secret_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it.each([
    ['a list of event types', { event_types: ['status_changed'] }, 'event_types'],
    ['an unknown event type', { event_types: 'order_changed' }, 'event_types'],
    ['no address', { hook_address: undefined }, 'hook_address'],
    ['an address that is no URL', { hook_address: 'ingress.example/x' }, 'hook_address'],
    ['an address without TLS', { hook_address: 'http://ingress.example/x' }, 'hook_address'],
    ['a field that was not asked for', { secret_id: 'mine' }, 'secret_id'],
  ])('with %s is refused with 400 that names the field', async (_, change, field) => {
    const seen = await subscribe(change);
    expect(seen).toMatchObject({ status: 400, text: expect.stringContaining(field) });
    expect(sandbox.subscribers()).toEqual([]);
  });
});

describe('subscribers', () => {
  it('can be listed, without their secrets, and deleted once', async () => {
    const { secret_id: _, ...shown } = (await subscribe()).json as Record<string, unknown>;
    const { status, json } = await call('GET', url(), given());
    expect({ status, json }).toEqual({ status: 200, json: { subscribers: [shown] } });
    const remove = () => call('DELETE', url(undefined, `/${shown.id}`), given());
    expect(await remove()).toMatchObject({ status: 204, text: '' });
    const again = await remove();
    expect([again.status, codeOf(again)]).toEqual([404, 'SUBSCRIBER_NOT_FOUND']);
  });
});
