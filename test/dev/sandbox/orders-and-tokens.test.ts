import { beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials } from '../../../dev/sandbox/sandbox.js';
import {
  askToken,
  call,
  newToken,
  readBusinessOrder,
  readPartnerOrder,
  sandboxOfOneTest,
  tokenForm,
  tokenPaths,
} from './calls.js';

let sandbox: Sandbox;
let partnerToken: string;
let businessToken: string;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest({ speed: 1_000 });
  partnerToken = await newToken(sandbox, 'partner');
  businessToken = await newToken(sandbox, 'business', { scope: 'order finance' });
});

describe('an order that is read', () => {
  it('at the partner interface needs a live token, its scope and its content type', async () => {
    const json = { 'content-type': 'application/json' };
    const partner = { authorization: `Bearer ${partnerToken}` };
    for (const [headers, status] of [
      [json, 401],
      [{ ...json, authorization: 'Bearer abc.def.ghi' }, 401],
      [{ ...json, authorization: 'Basic abc' }, 401],
      [{ ...json, authorization: `Bearer ${businessToken}` }, 403],
      [partner, 400],
      [{ ...partner, 'content-type': 'text/plain' }, 400],
    ] as const)
      expect((await call('GET', `${sandbox.url}/v1/private/orders/status/p-1`, headers)).status).toBe(status);
  });
});

type At = 'partner' | 'business';
/** Each interface names a wrong client in its own form. */
const refusal = (at: At, error: string, status = 400) => {
  if (at === 'business') return { status, json: { error } };
  return {
    status,
    json: { status: 'error', error: { code: error === 'invalid_client' ? 'INVALID_CREDENTIALS' : error } },
  };
};

describe('a token endpoint', () => {
  it.each<[At, string, object]>([
    ['partner', 'demand_partner', { token_type: 'Bearer', expires_in: 3600 }],
    ['business', 'finance order', { token_type: 'bearer', expires_in: 899 }],
  ])('of the %s interface grants the scope %s', async (at, scope, json) => {
    const access_token = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const granted = { access_token, scope, ...json };
    expect(await askToken(sandbox, at, { scope })).toMatchObject({ status: 200, json: granted });
  });

  it.each<[At, string | null]>([
    ['partner', 'order'],
    ['partner', ''],
    ['partner', null],
    ['business', 'demand_partner'],
    ['business', ''],
    ['business', 'order,finance'],
    ['business', 'order  finance'],
  ])('of the %s interface refuses the scope %j', async (at, scope) => {
    expect(await askToken(sandbox, at, { scope })).toMatchObject(refusal(at, 'invalid_scope'));
  });

  it('of the business interface takes a multipart form, too, that of the partner interface does not', async () => {
    const send = (at: At) => {
      const body = new FormData();
      for (const [name, value] of tokenForm(at)) body.set(name, value);
      return fetch(sandbox.url + tokenPaths[at], { method: 'POST', body });
    };
    expect((await send('business')).status).toBe(200);
    expect((await send('partner')).status).toBe(400);
  });

  it.each(['partner', 'business'] as const)('of the %s interface refuses wrong credentials and grants', async (at) => {
    const other = sandboxCredentials[at === 'partner' ? 'business' : 'partner'];
    for (const change of [
      { client_secret: 'wrong' },
      { client_secret: null },
      { client_id: null },
      { client_id: other.clientId, client_secret: other.clientSecret },
    ])
      expect(await askToken(sandbox, at, change)).toMatchObject(refusal(at, 'invalid_client', 401));
    for (const grant_type of ['password', 'CLIENT_CREDENTIALS', null])
      expect(await askToken(sandbox, at, { grant_type })).toMatchObject(refusal(at, 'invalid_grant'));
  });
});

it('tokens stay valid while credentials change, of which only the new ones get more, and end when they are revoked', async () => {
  const reads = async (token: string) => [
    (await readPartnerOrder(sandbox, 'p-1', token)).status,
    (await readBusinessOrder(sandbox, 'b-1', businessToken)).status,
  ];
  sandbox.setCredentials('partner', { ...sandboxCredentials.partner, clientSecret: 'rotated' });
  expect(await askToken(sandbox, 'partner')).toMatchObject(refusal('partner', 'invalid_client', 401));
  expect(await reads(partnerToken)).toEqual([200, 200]);
  expect(sandbox.revokeTokens()).toBe(2);
  expect(await reads(partnerToken)).toEqual([401, 401]);
  expect(await reads(await newToken(sandbox, 'partner', { client_secret: 'rotated' }))).toEqual([200, 401]);
});
