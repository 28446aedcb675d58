import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sandboxCredentials } from '../../sandbox/credentials.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { controlSandbox } from '../../sandbox/sandbox-control.js';
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

  it('is shown with its secret to the commands, in this process and over HTTP', async () => {
    const { json } = await subscribe({ event_types: 'business_report' });
    const { id, secret_id: secretId } = json as { id: string; secret_id: string };
    const expected = [{ id, secretId, hookAddress: address, eventType: 'business_report' }];
    expect(sandbox.subscribers()).toMatchObject(expected);
    expect(await controlSandbox(sandbox.url).subscribers()).toEqual(sandbox.subscribers());
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

  it('may have an address without TLS on this machine', async () => {
    expect((await subscribe({ hook_address: 'http://127.0.0.1:8480/x' })).status).toBe(201);
  });

  it.each(['accept', 'content-type'])('without the header %s is refused with 400', async (name) => {
    const { [name as 'accept']: _, ...headers } = given();
    expect((await subscribe({}, headers as Record<string, string>)).status).toBe(400);
  });

  it('that is not JSON is refused with 400', async () => {
    expect((await call('POST', url(), given(), '{')).status).toBe(400);
  });

  it.each(['order', 'finance', 'order finance'])('with a token of scope "%s" is refused with 403', async (scope) => {
    const scoped = await newToken(sandbox, 'business', { scope });
    expect((await subscribe({}, { ...given(), authorization: `Bearer ${scoped}` })).status).toBe(403);
    const partner = await newToken(sandbox, 'partner');
    expect((await subscribe({}, { ...given(), authorization: `Bearer ${partner}` })).status).toBe(403);
    expect((await subscribe({}, { ...given(), authorization: 'Bearer invented' })).status).toBe(401);
    expect(sandbox.subscribers()).toEqual([]);
  });

  it('must name the company of the token', async () => {
    expect((await call('POST', url(''), given(), body())).status).toBe(400);
    expect((await call('POST', url('?businessId=another'), given(), body())).status).toBe(403);
    expect((await call('POST', url(`?business_id=${businessId}`), given(), body())).status).toBe(400);
  });
});

describe('subscribers', () => {
  it('can be listed, without their secrets', async () => {
    const { secret_id: _, ...shown } = (await subscribe()).json as Record<string, unknown>;
    const { status, json } = await call('GET', url(), given());
    expect({ status, json }).toEqual({ status: 200, json: { subscribers: [shown] } });
  });

  it('can be deleted once', async () => {
    const { id } = (await subscribe()).json as { id: string };
    expect(await call('DELETE', url(undefined, `/${id}`), given())).toMatchObject({ status: 204, text: '' });
    const again = await call('DELETE', url(undefined, `/${id}`), given());
    expect(again.status).toBe(404);
    expect(codeOf(again)).toBe('SUBSCRIBER_NOT_FOUND');
    expect(sandbox.subscribers()).toEqual([]);
  });

  it('can be added and removed by commands', async () => {
    const control = controlSandbox(sandbox.url);
    const { id } = await control.addSubscriber({ hookAddress: address, eventType: 'status_changed' });
    expect(sandbox.subscribers()).toMatchObject([{ id }]);
    expect(await control.removeSubscriber(id)).toBe(true);
    expect(await control.removeSubscriber(id)).toBe(false);
    await expect(control.addSubscriber({ hookAddress: 'nowhere', eventType: 'status_changed' })).rejects.toThrow(
      /hookAddress/,
    );
  });
});

describe('a fault', () => {
  it('can take the secret out of the answer', async () => {
    sandbox.setFault({ kind: 'subscriberAnswer', without: ['secret_id'], times: 1 });
    expect((await subscribe()).json).not.toHaveProperty('secret_id');
    expect((await subscribe()).json).toHaveProperty('secret_id');
  });

  it('can drop the answer of a subscription that was made', async () => {
    sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 1 });
    await expect(subscribe()).rejects.toThrow();
    expect(sandbox.subscribers()).toHaveLength(1);
    expect(sandbox.ledger({ operation: 'createSubscriber' }).at(-1)).toMatchObject({ httpStatus: null });
  });

  it('that refuses makes no subscription', async () => {
    sandbox.setFault({ kind: 'serverError', operation: 'createSubscriber', times: 1 });
    expect((await subscribe()).status).toBe(500);
    expect(sandbox.subscribers()).toEqual([]);
  });

  it('of the subscriber answer cannot be set for another operation', () => {
    const set = () => sandbox.setFault({ kind: 'subscriberAnswer', operation: 'orderDetails' });
    expect(set).toThrow(/only createSubscriber/);
  });
});
