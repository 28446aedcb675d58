import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import { askToken, call, formType, tokenForm, tokenPaths } from './calls.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const post = (at: 'partner' | 'business', contentType: string | undefined, body: string) =>
  call('POST', sandbox.url + tokenPaths[at], contentType ? { 'content-type': contentType } : {}, body);

const asJson = (form: URLSearchParams) => JSON.stringify(Object.fromEntries(form));

function asMultipart(form: URLSearchParams): { contentType: string; body: string } {
  const parts = [...form].map(
    ([name, value]) => `--cut\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return { contentType: 'multipart/form-data; boundary=cut', body: `${parts.join('')}--cut--\r\n` };
}

describe('the partner token endpoint', () => {
  it('answers a correct form with a JWT-shaped bearer token for 3600 seconds', async () => {
    expect(await askToken(sandbox, 'partner')).toMatchObject({
      status: 200,
      json: {
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'demand_partner',
      },
    });
  });

  it('accepts a charset behind the media type', async () => {
    const answer = await post('partner', `${formType};charset=UTF-8`, tokenForm('partner').toString());
    expect(answer.status).toBe(200);
  });

  it('refuses JSON, multipart and a body without Content-Type', async () => {
    const form = tokenForm('partner');
    const multipart = asMultipart(form);
    const refused = { status: 400, json: { error: 'invalid_request' } };
    expect(await post('partner', 'application/json', asJson(form))).toMatchObject(refused);
    expect(await post('partner', multipart.contentType, multipart.body)).toMatchObject(refused);
    expect(await post('partner', undefined, form.toString())).toMatchObject(refused);
  });

  it.each(['order', '', 'demand_partner order', null])('answers invalid_scope to the scope %j', async (scope) => {
    expect(await askToken(sandbox, 'partner', { scope })).toMatchObject({
      status: 400,
      json: { error: 'invalid_scope' },
    });
  });
});

describe('the business token endpoint', () => {
  it('answers with a lower-case bearer token for 899 seconds and the scope asked for', async () => {
    expect(await askToken(sandbox, 'business', { scope: 'finance order' })).toMatchObject({
      status: 200,
      json: { token_type: 'bearer', expires_in: 899, scope: 'finance order' },
    });
  });

  it('answers a request without scope with an unscoped token', async () => {
    expect(await askToken(sandbox, 'business', { scope: null })).toMatchObject({ status: 200, json: { scope: '' } });
  });

  it.each(['demand_partner', '', 'order,finance', 'order  finance', 'Order'])('refuses the scope %j', async (scope) => {
    expect(await askToken(sandbox, 'business', { scope })).toMatchObject({
      status: 400,
      json: { error: 'invalid_scope' },
    });
  });

  it('accepts a multipart form', async () => {
    const { contentType, body } = asMultipart(tokenForm('business', { scope: 'company.reference' }));
    expect(await post('business', contentType, body)).toMatchObject({
      status: 200,
      json: { scope: 'company.reference' },
    });
  });

  it('refuses a multipart form that cannot be read', async () => {
    expect(await post('business', 'multipart/form-data; boundary=cut', 'nonsense')).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
  });

  it('refuses JSON, unless the option allows it', async () => {
    const body = asJson(tokenForm('business'));
    expect(await post('business', 'application/json', body)).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
    const tolerant = await startSandbox({ business: { acceptJsonTokenRequests: true } });
    const answer = await call('POST', `${tolerant.url}/oauth/token`, { 'content-type': 'application/json' }, body);
    await tolerant.close();
    expect(answer).toMatchObject({ status: 200, json: { scope: 'order' } });
  });
});

describe.each(['partner', 'business'] as const)('the %s token endpoint', (at) => {
  const other = sandboxCredentials[at === 'partner' ? 'business' : 'partner'];

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['no secret', { client_secret: null }],
    ['a wrong client id', { client_id: 'wrong' }],
    ['no client id', { client_id: null }],
    ['the credentials of the other interface', { client_id: other.clientId, client_secret: other.clientSecret }],
  ])('answers invalid_client to %s', async (_case, change) => {
    expect(await askToken(sandbox, at, change)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  });

  it.each(['password', 'CLIENT_CREDENTIALS', null])('answers invalid_grant to the grant type %j', async (grant) => {
    expect(await askToken(sandbox, at, { grant_type: grant })).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    });
  });

  it('refuses a field that comes twice', async () => {
    const form = tokenForm(at);
    form.append('grant_type', 'client_credentials');
    expect(await post(at, formType, form.toString())).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
  });

  it('reads no credentials from the query', async () => {
    const answer = await call(
      'POST',
      `${sandbox.url}${tokenPaths[at]}?${tokenForm(at)}`,
      { 'content-type': formType },
      '',
    );
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  });

  it('answers a GET with 404', async () => {
    expect(await call('GET', sandbox.url + tokenPaths[at])).toMatchObject({ status: 404, json: { status: 'error' } });
  });
});
