import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import {
  askToken,
  businessClientId,
  newToken,
  partnerId,
  quietOrder,
  readBusinessOrder,
  readPartnerOrder,
} from './calls.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  sandbox.addOrder(quietOrder('partner', 'p-1'));
  sandbox.addOrder(quietOrder('business', 'b-1'));
});
afterEach(() => sandbox.clearFaults());
afterAll(() => sandbox.close());

const partnerCredentials = {
  clientId: partnerId,
  clientSecret: sandboxCredentials.partner.clientSecret,
};

describe('tokenAnswer', () => {
  it.each(['access_token', 'expires_in', 'token_type', 'scope'])('can leave %s out', async (field) => {
    sandbox.setFault({ kind: 'tokenAnswer', without: [field] });
    const { status, json } = await askToken(sandbox, 'business');
    expect(status).toBe(200);
    expect(json).not.toHaveProperty(field);
    expect(Object.keys(json as object)).toHaveLength(3);
  });

  it.each([{ expires_in: '899' }, { expires_in: 0 }, { expires_in: -1 }, { token_type: 'mac' }, { scope: 'finance' }])(
    'can say %j',
    async (change) => {
      sandbox.setFault({ kind: 'tokenAnswer', with: change });
      expect((await askToken(sandbox, 'business')).json).toMatchObject({ access_token: expect.any(String), ...change });
    },
  );

  it('does not touch other calls', async () => {
    const token = await newToken(sandbox, 'partner');
    sandbox.setFault({ kind: 'tokenAnswer', without: ['order'] });
    expect((await readPartnerOrder(sandbox, 'p-1', token)).json).toHaveProperty('order');
  });
});

describe('a token error on demand', () => {
  it.each([
    ['invalidClient', 401, 'invalid_client'],
    ['invalidScope', 400, 'invalid_scope'],
    ['invalidGrant', 400, 'invalid_grant'],
  ] as const)('%s answers %d %s in either shape, and issues nothing', async (kind, status, error) => {
    const issued = sandbox.issuedTokens().length;
    sandbox.setFault({ kind, times: 1 });
    expect(await askToken(sandbox, 'partner')).toMatchObject({ status, json: { error } });
    sandbox.setFault({ kind, shape: 'envelope' });
    expect(await askToken(sandbox, 'partner')).toMatchObject({
      status,
      json: { status: 'error', error: { code: error } },
    });
    expect(sandbox.issuedTokens()).toHaveLength(issued);
  });

  it('cannot be set for another operation', () => {
    expect(() => sandbox.setFault({ kind: 'invalidClient', operation: 'orderStatus' })).toThrow(/operation/);
  });
});

describe('revokeTokens', () => {
  it('ends all tokens: they are answered with 401 from then on', async () => {
    const partner = await newToken(sandbox, 'partner');
    const business = await newToken(sandbox, 'business');
    expect(sandbox.revokeTokens()).toBeGreaterThanOrEqual(2);
    expect((await readPartnerOrder(sandbox, 'p-1', partner)).status).toBe(401);
    expect((await readBusinessOrder(sandbox, 'b-1', business)).status).toBe(401);
    expect((await readPartnerOrder(sandbox, 'p-1', await newToken(sandbox, 'partner'))).status).toBe(200);
  });

  it('ends only those of the client it names', async () => {
    const partner = await newToken(sandbox, 'partner');
    const business = await newToken(sandbox, 'business');
    expect(sandbox.revokeTokens(businessClientId)).toBe(1);
    expect((await readPartnerOrder(sandbox, 'p-1', partner)).status).toBe(200);
    expect((await readBusinessOrder(sandbox, 'b-1', business)).status).toBe(401);
  });
});

describe('setCredentials', () => {
  it('refuses the old secret and accepts the new one; tokens issued before stay valid', async () => {
    const token = await newToken(sandbox, 'partner');
    sandbox.setCredentials('partner', { clientId: partnerId, clientSecret: 'rotated' });
    expect(await askToken(sandbox, 'partner')).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    expect((await askToken(sandbox, 'partner', { client_secret: 'rotated' })).status).toBe(200);
    expect((await askToken(sandbox, 'business')).status).toBe(200);
    expect((await readPartnerOrder(sandbox, 'p-1', token)).status).toBe(200);
    sandbox.setCredentials('partner', partnerCredentials);
  });
});

describe('setTokenLifetime', () => {
  it('holds for tokens of that interface from then on', async () => {
    sandbox.setTokenLifetime('business', 5);
    expect((await askToken(sandbox, 'business')).json).toMatchObject({ expires_in: 5 });
    expect((await askToken(sandbox, 'partner')).json).toMatchObject({ expires_in: 3600 });
  });
});

describe('issuedTokens', () => {
  it('names every token ever issued, each once', async () => {
    const token = await newToken(sandbox, 'partner');
    expect(sandbox.issuedTokens()).toContain(token);
    expect(new Set(sandbox.issuedTokens()).size).toBe(sandbox.issuedTokens().length);
  });
});
