import { describe, expect, it } from 'vitest';
import { loadCliConfig, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import {
  accountsFile,
  businessEnv,
  encodedKey,
  expectProblem,
  files,
  notifyEnv,
  partnerEnv,
  problemsOf,
  sealingEnv,
} from './env.js';

const keys = `k1:${encodedKey(9)}`;
const webhookEnv = { FARETRAIL_WEBHOOK_KEYS: keys };
const { FARETRAIL_BUSINESS_CLIENT_SECRET: _, ...withoutSecret } = businessEnv;

it('a worker starts with one account and sealing keys, an ingress with webhook keys and without a client secret', () => {
  const worker = loadWorkerConfig({ ...partnerEnv, FARETRAIL_SEALING_KEYS: keys });
  expect([worker.accounts[0].clientSecret, worker.sealingKeys[0].kid]).toEqual(['partner-secret', 'k1']);
  const ingress = loadIngressConfig({ ...withoutSecret, ...webhookEnv });
  expect(ingress.accounts[0]).toMatchObject({ name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID });
  expect(ingress.webhookKeys[0].kid).toBe('k1');
  expect(loadConfig({ FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS: keys }).payloads.encrypts).toBe(true);
});

it('an ingress ignores the settings of a worker: it sends no notice, and holds no client secret nor key of tokens', () => {
  const ofWorker = { ...sealingEnv, ...notifyEnv, FARETRAIL_METRICS_PORT: '1', FARETRAIL_PUBLIC_URL: '' };
  const config = loadIngressConfig({ ...businessEnv, ...webhookEnv, ...ofWorker });
  expect(config.sealingKeys).toBeNull();
  expect(config.notify).toEqual({ origins: [], secrets: null, allowsPrivate: false });
  expect('clientSecret' in config.accounts[0]).toBe(false);
});

it('a worker needs secrets of notices once it has origins', () => {
  const env = { ...partnerEnv, ...sealingEnv, FARETRAIL_NOTIFY_ORIGINS: 'https://orders.example.com' };
  expectProblem(() => loadWorkerConfig(env), 'FARETRAIL_NOTIFY_SECRETS: missing; make one with: ');
});

describe.each([
  ['a worker', loadWorkerConfig, 'FARETRAIL_SEALING_KEYS', ['FARETRAIL_PARTNER_CLIENT_SECRET']],
  ['an ingress', loadIngressConfig, 'FARETRAIL_WEBHOOK_KEYS', []],
] as const)('the problems of %s', (_, load, keys, secret) => {
  it('name everything that is missing, with the remedies', () => {
    expect(problemsOf(() => load({ FARETRAIL_LOG_LEVEL: 'loud' }))).toEqual([
      expect.stringMatching(/^FARETRAIL_LOG_LEVEL: /),
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: no account; set it/),
      expect.stringMatching(new RegExp(`^${keys}: missing; make one with: node -e `)),
    ]);
  });

  it('do not call a setting missing that is set and wrong', () => {
    const env = { FARETRAIL_PARTNER_BASE_URL: 'https://partner.example', [keys]: 'k1:short' };
    const problems = problemsOf(() => load(env));
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(['FARETRAIL_PARTNER_CLIENT_ID', ...secret, keys]);
    expect(problems.at(-1)).toMatch(/: entry 1/);
  });
});

it('no process runs where TLS proves nothing', () => {
  const checked = { ...sealingEnv, ...partnerEnv, FARETRAIL_WEBHOOK_KEYS: keys, NODE_TLS_REJECT_UNAUTHORIZED: '1' };
  for (const load of [loadWorkerConfig, loadIngressConfig, loadCliConfig]) {
    expect(() => load(checked)).not.toThrow();
    expectProblem(
      () => load({ ...checked, NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
      'NODE_TLS_REJECT_UNAUTHORIZED: unset it; ',
    );
  }
});

it('the CLI requires nothing, and reports settings that are wrong', () => {
  expect(loadCliConfig({}).accounts).toEqual([]);
  expect(problemsOf(() => loadCliConfig({ FARETRAIL_ACCOUNTS_FILE: 'gone.json' }, files({})))).toHaveLength(1);
});

it.each([
  ['the CLI', loadCliConfig],
  ['an ingress', loadIngressConfig],
])('%s reads accounts without their secrets, whose files may be on another machine', (_, load) => {
  const acme = {
    ...{ interface: 'partner', baseUrl: 'https://partner.example', clientId: 'acme-id' },
    clientSecret: { file: '/not/on/this/machine' },
  };
  const env = { ...withoutSecret, ...webhookEnv, FARETRAIL_ACCOUNTS_FILE: 'accounts.json' };
  const { accounts } = load(env, accountsFile({ acme }));
  expect(accounts.map(({ name }) => name)).toEqual(['business', 'acme']);
  expect(accounts.some((account) => 'clientSecret' in account)).toBe(false);
});
