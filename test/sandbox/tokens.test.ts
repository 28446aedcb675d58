import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import {
  askToken,
  call,
  formType,
  newToken,
  partnerId,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
  tokenForm,
  tokenPaths,
} from './calls.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  sandbox.addOrder(quietOrder('partner', 'p-1'));
  sandbox.addOrder(quietOrder('business', 'b-1'));
});
afterEach(() => sandbox.clearFaults());
afterAll(() => sandbox.close());

type At = 'partner' | 'business';
const refusal = (error: string, status = 400) => ({ status, json: { error } });
const post = (at: At, contentType: string | undefined, body: string, url = sandbox.url) =>
  call('POST', url + tokenPaths[at], contentType ? { 'content-type': contentType } : {}, body);
const asJson = (form: URLSearchParams) => JSON.stringify(Object.fromEntries(form));
const multipartType = 'multipart/form-data; boundary=cut';
const asMultipart = (form: URLSearchParams) =>
  `${[...form].map(([name, value]) => `--cut\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--cut--\r\n`;

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
    expect(await askToken(sandbox, at, { scope })).toMatchObject(refusal('invalid_scope'));
  });

  it('of the partner interface takes a form alone', async () => {
    const form = tokenForm('partner');
    const refused = refusal('invalid_request');
    expect(await post('partner', 'application/json', asJson(form))).toMatchObject(refused);
    expect(await post('partner', multipartType, asMultipart(form))).toMatchObject(refused);
    expect(await post('partner', undefined, form.toString())).toMatchObject(refused);
  });

  it('of the business interface takes a multipart form too, and JSON when an option allows it', async () => {
    const form = tokenForm('business');
    expect((await post('business', multipartType, asMultipart(form))).status).toBe(200);
    expect(await post('business', 'application/json', asJson(form))).toMatchObject(refusal('invalid_request'));
    const tolerant = await startSandbox({ business: { acceptJsonTokenRequests: true } });
    const answer = await post('business', 'application/json', asJson(form), tolerant.url);
    await tolerant.close();
    expect(answer).toMatchObject({ status: 200, json: { scope: 'order' } });
  });

  it.each(['partner', 'business'] as const)('of the %s interface refuses wrong credentials and grants', async (at) => {
    const other = sandboxCredentials[at === 'partner' ? 'business' : 'partner'];
    for (const change of [
      { client_secret: 'wrong' },
      { client_secret: null },
      { client_id: null },
      { client_id: other.clientId, client_secret: other.clientSecret },
    ])
      expect(await askToken(sandbox, at, change)).toMatchObject(refusal('invalid_client', 401));
    for (const grant_type of ['password', 'CLIENT_CREDENTIALS', null])
      expect(await askToken(sandbox, at, { grant_type })).toMatchObject(refusal('invalid_grant'));
    const twice = `${tokenForm(at)}&grant_type=client_credentials`;
    expect(await post(at, formType, twice)).toMatchObject(refusal('invalid_request'));
  });
});

describe('a fault of a token endpoint', () => {
  it.each(['access_token', 'expires_in', 'token_type', 'scope'])('can leave %s out', async (field) => {
    sandbox.setFault({ kind: 'tokenAnswer', without: [field] });
    const { status, json } = await askToken(sandbox, 'business');
    expect(status).toBe(200);
    expect(json).not.toHaveProperty(field);
    expect(Object.keys(json as object)).toHaveLength(3);
  });

  it.each([{ expires_in: '899' }, { expires_in: -1 }, { token_type: 'mac' }])('can say %j', async (change) => {
    sandbox.setFault({ kind: 'tokenAnswer', with: change });
    expect((await askToken(sandbox, 'business')).json).toMatchObject({ access_token: expect.any(String), ...change });
  });

  it.each([
    ['invalidClient', 401, 'invalid_client'],
    ['invalidScope', 400, 'invalid_scope'],
    ['invalidGrant', 400, 'invalid_grant'],
  ] as const)('%s answers %d %s in either shape, and issues nothing', async (kind, status, error) => {
    const issued = sandbox.issuedTokens().length;
    sandbox.setFault({ kind, times: 1 });
    expect(await askToken(sandbox, 'partner')).toMatchObject(refusal(error, status));
    sandbox.setFault({ kind, shape: 'envelope' });
    const json = { status: 'error', error: { code: error } };
    expect(await askToken(sandbox, 'partner')).toMatchObject({ status, json });
    expect(sandbox.issuedTokens()).toHaveLength(issued);
  });
});

describe('tokens', () => {
  it('are answered with 401 once they are revoked', async () => {
    const partner = await newToken(sandbox, 'partner');
    const business = await newToken(sandbox, 'business');
    expect(sandbox.revokeTokens()).toBeGreaterThanOrEqual(2);
    expect((await readPartnerOrder(sandbox, 'p-1', partner)).status).toBe(401);
    expect((await readBusinessOrder(sandbox, 'b-1', business)).status).toBe(401);
    expect((await readPartnerOrder(sandbox, 'p-1', await newToken(sandbox, 'partner'))).status).toBe(200);
  });

  it('stay valid while credentials change; only the new secret gets more', async () => {
    const token = await newToken(sandbox, 'partner');
    sandbox.setCredentials('partner', { clientId: partnerId, clientSecret: 'rotated' });
    expect(await askToken(sandbox, 'partner')).toMatchObject(refusal('invalid_client', 401));
    expect((await askToken(sandbox, 'partner', { client_secret: 'rotated' })).status).toBe(200);
    expect((await readPartnerOrder(sandbox, 'p-1', token)).status).toBe(200);
    sandbox.setCredentials('partner', sandboxCredentials.partner);
  });

  it('can be given another lifetime, at one interface', async () => {
    sandbox.setTokenLifetime('business', 5);
    expect((await askToken(sandbox, 'business')).json).toMatchObject({ expires_in: 5 });
    expect((await askToken(sandbox, 'partner')).json).toMatchObject({ expires_in: 3600 });
  });
});
