import { describe, expect, it } from 'vitest';
import { loadIngressConfig } from '../../src/config.js';
import { accountsFile, businessEnv, encodedKey, problemsOf, sealingEnv } from './env.js';

const webhookEnv = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(9)}` };
const { FARETRAIL_BUSINESS_CLIENT_SECRET: _, ...withoutSecret } = businessEnv;

describe('what an ingress requires', () => {
  it('is an account and the webhook keys, and no client secret', () => {
    const config = loadIngressConfig({ ...withoutSecret, ...webhookEnv });
    expect(config.accounts[0]).toMatchObject({ name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID });
    expect(config.webhookKeys[0].kid).toBe('w1');
  });

  it('is told as a whole, with the remedies', () => {
    expect(problemsOf(() => loadIngressConfig({ FARETRAIL_INGRESS_PORT: 'x' }))).toEqual([
      expect.stringMatching(/^FARETRAIL_INGRESS_PORT: /),
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: no account; set it/),
      expect.stringMatching(/^FARETRAIL_WEBHOOK_KEYS: missing; make one with: node -e /),
    ]);
  });

  it('does not call missing what is there and wrong', () => {
    const env = { ...withoutSecret, FARETRAIL_WEBHOOK_KEYS: 'w1:short' };
    expect(problemsOf(() => loadIngressConfig(env))).toEqual([
      expect.stringMatching(/^FARETRAIL_WEBHOOK_KEYS: entry 1/),
    ]);
  });
});

describe('what only a worker uses', () => {
  it('is taken and left out: the ingress holds no client secret and no key that opens tokens', () => {
    const env = { ...businessEnv, ...webhookEnv, ...sealingEnv, FARETRAIL_METRICS_PORT: '1', FARETRAIL_PUBLIC_URL: '' };
    const config = loadIngressConfig(env);
    expect(config.sealingKeys).toBeNull();
    expect('clientSecret' in config.accounts[0]).toBe(false);
  });

  it('is not looked up: the file of a secret need not be on this machine', () => {
    const acme = {
      ...{ interface: 'business', baseUrl: 'https://business.example', clientId: 'acme-id' },
      ...{ businessId: businessEnv.FARETRAIL_BUSINESS_ID, clientSecret: { file: '/not/on/this/machine' } },
    };
    const env = { ...webhookEnv, FARETRAIL_ACCOUNTS_FILE: 'accounts.json' };
    expect(loadIngressConfig(env, accountsFile({ acme })).accounts).toMatchObject([{ name: 'acme' }]);
  });
});
